"""A conditioned sparse GP: moments, expected densities and function draws, with nothing left to factorise."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._alike import for_each
from gpssm._core._gaussian import expected_log_normal, kl_to_standard_normal
from gpssm._core._linalg import product, transposed
from gpssm.kernels import PriorDraw, draw_prior
from gpssm.models.transition._base import AbstractDynamics, AbstractFunctionDraw, Transitions
from gpssm.models.transition._basis import Basis
from gpssm.models.transition._mean import AbstractMean

ROWS = 8192
"""Transitions whose kernel matrices are held at the same time."""


class SparseDynamics(AbstractDynamics):
    """q over functions in whitened coordinates: g_d(z) = B_d(z)' v_d + what the inducing values leave unexplained."""

    bases: tuple[Basis, ...]
    q_mean: Float[Array, "D M"]
    q_chol: Float[Array, "D M M"]
    noise: Float[Array, " D"]
    mean: AbstractMean
    residual: bool = eqx.field(static=True, default=True)
    """Whether the function has what the inducing values leave unexplained. Without it, functions are combinations of
    the basis and nothing else: the deterministic approximation (DTC)."""

    def function_moments(
        self, x: Float[Array, "N D"], u: Float[Array, "N P"]
    ) -> tuple[Float[Array, "N D"], Float[Array, "N D"]]:
        """Mean and variance of the transition function at many points."""
        points = jnp.concatenate([x, u], axis=-1)
        projected = for_each(lambda basis: basis.project(points), self.bases)
        means, variances = [], []
        for d in range(self.q_mean.shape[0]):
            features, unexplained = projected[d % len(self.bases)]
            means.append(self.q_mean[d] @ features)
            left = unexplained if self.residual else jnp.zeros_like(unexplained)
            variances.append(left + jnp.sum(product(transposed(self.q_chol[d]), features) ** 2, axis=0))
        return self.mean(x, u) + jnp.stack(means, axis=-1), jnp.stack(variances, axis=-1)

    def moments(self, x: Float[Array, " D"], u: Float[Array, " P"]) -> tuple[Float[Array, " D"], Float[Array, " D"]]:
        """Mean and variance of the transition function at one point."""
        means, variances = self.function_moments(x[None], u[None])
        return means[0], jnp.maximum(variances[0], 0.0)

    def expected_log_prob(self, transitions: Transitions) -> Float[Array, ""]:
        """The paper's transition term: log N(next | mean, s^2) - v / (2 s^2), with the next state's own variance
        added.

        Beyond `ROWS` rows the table is worked through in blocks that are computed again for the gradient, so that
        memory holds the kernel matrix of one block and not of the whole record.
        """
        rows = transitions.weights.shape[0]
        if rows <= ROWS:
            return self._block_log_prob(transitions)
        # The last row with weight zero fills the last block.
        count = -(-rows // ROWS)
        index = jnp.reshape(jnp.arange(count * ROWS), (count, ROWS))
        blocks = jax.tree.map(lambda leaf: leaf[jnp.minimum(index, rows - 1)], transitions)
        blocks = eqx.tree_at(lambda b: b.weights, blocks, jnp.where(index < rows, blocks.weights, 0.0))

        def add(total: Array, block: Transitions) -> tuple[Array, None]:
            return total + self._block_log_prob(block), None

        return lax.scan(jax.checkpoint(add), jnp.zeros((), self.noise.dtype), blocks)[0]

    def _block_log_prob(self, transitions: Transitions) -> Float[Array, ""]:
        means, variances = self.function_moments(transitions.states, transitions.controls)
        squares = (transitions.next_means - means) ** 2 + transitions.next_variances + variances
        return jnp.sum(transitions.weights[:, None] * expected_log_normal(squares, self.noise[None, :]))

    def kl(self) -> Float[Array, ""]:
        """Sum over dimensions of KL[q(v_d) || N(0, I)]."""
        return sum(
            (kl_to_standard_normal(m, c) for m, c in zip(self.q_mean, self.q_chol, strict=True)),
            jnp.zeros((), self.q_mean.dtype),
        )

    def noise_variance(self) -> Float[Array, " D"]:
        """Process noise variance."""
        return self.noise

    def jitter(self) -> Float[Array, ""]:
        """The largest relative jitter needed."""
        return jnp.max(jnp.stack([basis.factor.jitter for basis in self.bases]))

    def draw(self, *, num_features: int, key: PRNGKeyArray) -> "SparseGPDraw":
        """Pathwise conditioning: a prior draw corrected so that it passes through a draw of the inducing values."""
        dims, inputs, dtype = self.q_mean.shape[0], self.bases[0].inducing.shape[1], self.q_mean.dtype
        bases = [self.bases[d % len(self.bases)] for d in range(dims)]

        def one(part: tuple[Basis, Array, Array, PRNGKeyArray]) -> tuple[tuple | None, Array]:
            basis, mean, chol, dim_key = part
            prior_key, value_key = jr.split(dim_key)
            whitened = mean + chol @ jr.normal(value_key, mean.shape, dtype)
            prior = None
            if self.residual:
                prior = draw_prior(basis.kernel, inputs, num_features=num_features, dtype=dtype, key=prior_key)
            if prior is None:
                return None, whitened
            whitened = whitened - basis.factor.inverse @ jax.vmap(prior)(basis.inducing)
            return (prior.directions, prior.weights), whitened

        # Random numbers take long to compile and are drawn once: one program for all dimensions.
        parts = list(zip(bases, self.q_mean, self.q_chol, jr.split(key, dims), strict=True))
        drawn = for_each(one, parts, written_out=1)
        priors = [
            None if found is None else PriorDraw.of(basis.kernel, *found)
            for basis, (found, _) in zip(bases, drawn, strict=True)
        ]
        weights = jnp.stack([whitened for _, whitened in drawn])
        return SparseGPDraw(self.bases, tuple(priors), weights, self.mean, self.residual)


class SparseGPDraw(AbstractFunctionDraw):
    """prior draw + B(z)' (v - L^-1 prior draw at the inducing inputs).

    For a kernel without known random features the prior draw is missing: then the inducing values are held along the
    trajectory and only the (usually small) variance that they leave unexplained is drawn afresh at each step.
    """

    bases: tuple[Basis, ...]
    priors: tuple[PriorDraw | None, ...]
    weights: Float[Array, "D M"]
    mean: AbstractMean
    residual: bool = eqx.field(static=True, default=True)

    def __call__(self, x: Float[Array, " D"], u: Float[Array, " P"], *, key: PRNGKeyArray) -> Float[Array, " D"]:
        """The drawn function at one point."""
        point = jnp.concatenate([x, u])
        projected = [basis.project(point[None]) for basis in self.bases]
        values = []
        for d, dim_key in enumerate(jr.split(key, self.weights.shape[0])):
            features, unexplained = projected[d % len(self.bases)]
            value = jnp.dot(self.weights[d], features[:, 0])
            prior = self.priors[d]
            if not self.residual:
                values.append(value)
            elif prior is None:
                spread = jnp.sqrt(jnp.maximum(unexplained[0], 0.0))
                values.append(value + spread * jr.normal(dim_key, (), x.dtype))
            else:
                values.append(value + prior(point))
        return self.mean(x, u) + jnp.stack(values)
