"""A transition function whose inducing values are given."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm.kernels import cross_covariance
from gpssm.models.transition import AbstractMean, SparseGP
from gpssm.models.transition._basis import Basis


class GivenFunction(eqx.Module):
    """f_d(z) = mean_d(z) + k_d(Z, z)' L_d^-T v_d for known v. What is linear in v is told as k_d(Z, z): whitening it
    costs M^2 a point, and can wait until all points are done."""

    bases: tuple[Basis, ...]
    weights: Float[Array, "D M"]
    """L_d^-T v_d."""
    mean: AbstractMean

    @classmethod
    def of(cls, transition: SparseGP, values: Float[Array, "D M"]) -> "GivenFunction":
        """The function of whitened inducing values v."""
        bases = transition.bases()
        weights = jnp.stack([bases[d % len(bases)].factor.inverse.T @ v for d, v in enumerate(values)])
        return cls(bases, weights, transition.mean)

    def __call__(
        self, x: Float[Array, "K D"], u: Float[Array, " P"]
    ) -> tuple[Float[Array, "K D"], tuple[Float[Array, "M K"], ...]]:
        """Values at states under one control, and the kernel of each basis between inducing inputs and these points."""
        controls = jnp.broadcast_to(u, (x.shape[0], *u.shape))
        points = jnp.concatenate([x, controls], axis=-1)
        rows = tuple(cross_covariance(basis.kernel, basis.inducing, points) for basis in self.bases)
        found = [weights @ rows[d % len(rows)] for d, weights in enumerate(self.weights)]
        return self.mean(x, controls) + jnp.stack(found, axis=-1), rows

    def unexplained(self, x: Float[Array, " D"], u: Float[Array, " P"]) -> Float[Array, " D"]:
        """Prior variance at a point that the inducing values leave."""
        point = jnp.concatenate([x, u])[None]
        left = [jnp.maximum(basis.project(point)[1][0], 0.0) for basis in self.bases]
        return jnp.stack([left[d % len(left)] for d in range(self.weights.shape[0])])

    def whitened(self, rows: Float[Array, "N D M"]) -> Float[Array, "N K"]:
        """Rows of derivatives that were told in terms of k(Z, .), in terms of v; K = D M."""
        parts = [rows[:, d] @ self.bases[d % len(self.bases)].factor.inverse.T for d in range(rows.shape[1])]
        return jnp.concatenate(parts, axis=1)
