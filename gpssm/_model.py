"""The Gaussian-process state-space model: an initial state, a transition and an emission."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm._emission import AbstractEmission
from gpssm._gaussian import LOG_2PI
from gpssm.transition import AbstractTransition


class GPSSM(eqx.Module):
    """x[0] ~ N(0, I); x[t+1] from the transition; y[t] from the emission. Everything in standardised units."""

    transition: AbstractTransition
    emission: AbstractEmission
    state_dim: int = eqx.field(static=True)

    def initial_expected_log_prob(self, mean: Float[Array, " D"], covariance: Float[Array, "D D"]) -> Float[Array, ""]:
        """E log N(x | 0, I) for x ~ N(mean, covariance)."""
        return -0.5 * (self.state_dim * LOG_2PI + jnp.sum(mean**2) + jnp.trace(covariance))
