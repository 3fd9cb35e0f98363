"""The bootstrap particle filter."""

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from gpssm._core._linalg import small_cholesky
from gpssm.filters._base import AbstractFilter, FilterInput, next_moments
from gpssm.models import GPSSM

if TYPE_CHECKING:
    import cuthbert


class ParticleFilter(AbstractFilter):
    """Bootstrap particle filter with systematic resampling when half of the particles have lost their weight."""

    num_particles: int = eqx.field(static=True, default=1000)

    def build(self, model: GPSSM) -> "cuthbert.Filter":
        """Particles move by the transition's marginals and are weighted by the emission."""
        from cuthbert.smc import particle_filter
        from cuthbertlib.resampling.adaptive import ess_decorator

        dynamics, emission = model.transition.condition(), model.emission
        dtype = emission.noise_variance().dtype

        def propagate(key: PRNGKeyArray, state: Array, model_inputs: FilterInput) -> Array:
            mean, chol = next_moments(dynamics, state, model_inputs)
            return mean + jnp.diagonal(chol) * jr.normal(key, mean.shape, dtype)

        def log_potential(state_prev: Array, state: Array, model_inputs: FilterInput) -> Array:
            y = model_inputs.y
            return jnp.sum(jnp.where(jnp.isnan(y), 0.0, emission.log_prob(jnp.nan_to_num(y), state)))

        return particle_filter.build_filter(
            lambda key: jr.normal(key, (model.state_dim,), dtype),
            propagate,
            log_potential,
            self.num_particles,
            ess_decorator(_systematic_resampling, 0.5),
        )

    def moments(self, state: Any) -> tuple[Float[Array, " D"], Float[Array, "D D"]]:
        """Weighted moments of the particles."""
        weights = jax.nn.softmax(state.log_weights)
        mean = weights @ state.particles
        deviations = state.particles - mean[None, :]
        covariance = (weights[:, None] * deviations).T @ deviations
        return mean, small_cholesky(covariance + 1e-9 * jnp.eye(mean.shape[0], dtype=mean.dtype))


def _systematic_resampling(key: PRNGKeyArray, logits: ArrayLike, positions: Any, n: int) -> tuple[Array, Array, Any]:
    """Systematic resampling as traced code: cuthbert's own calls back to the host, where this thread's precision is
    not set."""
    logits = jnp.asarray(logits)
    grid = (jr.uniform(key, (), logits.dtype) + jnp.arange(n)) / n
    chosen = jnp.clip(jnp.searchsorted(jnp.cumsum(jax.nn.softmax(logits)), grid), 0, logits.shape[0] - 1)
    chosen = chosen.astype(jnp.arange(n).dtype)
    return chosen, jnp.zeros_like(logits), jax.tree.map(lambda leaf: leaf[chosen], positions)
