"""A Gaussian state through a function of squared-exponential kernels, in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm._core._gaussian import matmul, transpose
from gpssm._core._rbf_moments import expected_kernels, expected_products
from gpssm.inference.marginal._carry import AbstractCarry, Carried
from gpssm.inference.marginal._function import GivenFunction
from gpssm.models.transition import AbstractMean, FadingMean, IdentityMean, LinearMean, StableMean
from gpssm.models.transition._basis import Basis

_LINEAR = (FadingMean, IdentityMean, LinearMean, StableMean)


class ExactMoments(AbstractCarry):
    """Without nodes: what assumed-density filters do. For RBF kernels, and mean functions that are linear in the state.

    The cost of a step is D^2 M^2, where nodes in many dimensions cost D M each; it is right however wide a belief is
    next to the length-scales.
    """

    def __call__(
        self, function: GivenFunction, mean: Float[Array, " D"], chol: Float[Array, "D D"], u: Float[Array, " P"]
    ) -> Carried:
        """Moments of the linear part, of the kernels' part, and of the two together."""
        dims, covariance = mean.shape[0], matmul(chol, transpose(chol))
        parts = [_seen_from(basis, mean, u) for basis in function.bases]
        offsets, scales, log_factors = (jnp.stack(part) for part in zip(*parts, strict=True))
        expected, slopes = expected_kernels(offsets, scales, log_factors, covariance)
        which = np.arange(dims) % len(parts)
        weighted = function.weights * expected[which]
        bend = jnp.sum(weighted, axis=1)
        bend_slope = jnp.sum(weighted[:, :, None] * slopes[which], axis=1)
        a, b = np.triu_indices(len(parts))
        products = expected_products(offsets, scales, log_factors, covariance, a, b)
        pair = {(int(i), int(j)): products[n] for n, (i, j) in enumerate(zip(a, b, strict=True))}

        def second(i: int, j: int) -> Float[Array, ""]:
            k, m = int(which[i]), int(which[j])
            found = pair[k, m] if k <= m else pair[m, k].T
            return jnp.sum(jnp.sum(function.weights[i][:, None] * found * function.weights[j][None, :], axis=1))

        upper = {(i, j): second(i, j) for i in range(dims) for j in range(i, dims)}
        bends = jnp.stack([jnp.stack([upper[min(i, j), max(i, j)] for j in range(dims)]) for i in range(dims)])

        straight = _straight(function.mean)

        def line(x: Float[Array, " D"]) -> Float[Array, " D"]:
            return straight(x[None], u[None])[0]

        slope = jax.jacfwd(line)(mean)
        # cov(A x + k(x)) = A P A' + A P S' + S P A' + cov k, S being the expected slope of k.
        moved = matmul(slope, covariance)
        crossed = matmul(moved, transpose(bend_slope))
        spread = matmul(moved, transpose(slope)) + crossed + transpose(crossed) + bends - bend[:, None] * bend[None, :]
        features = tuple(expected[i] for i in range(len(parts)))
        return Carried(line(mean) + bend, spread, slope + bend_slope, features)


def _seen_from(
    basis: Basis, mean: Float[Array, " D"], u: Float[Array, " P"]
) -> tuple[Float[Array, "M D"], Float[Array, " D"], Float[Array, " M"]]:
    """Inducing states less the belief's mean, length-scales of the states, and what of the kernel is certain."""
    # With GPJax, which is there once there is a kernel.
    from gpssm.kernels._gpjax import squared_exponential

    dims = mean.shape[0]
    scales, variance = squared_exponential(basis.kernel, basis.inducing.shape[1])
    known = jnp.sum(((basis.inducing[:, dims:] - u[None]) / scales[None, dims:]) ** 2, axis=1)
    return basis.inducing[:, :dims] - mean[None], scales[:dims], jnp.log(variance) - 0.5 * known


def _straight(mean: AbstractMean) -> AbstractMean:
    if not isinstance(mean, _LINEAR):
        raise TypeError(f"exact moments need a mean function that is linear in the state, not {type(mean).__name__}")
    return mean
