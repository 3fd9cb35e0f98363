"""A weak belief about the process noise."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm.models import GPSSM


class NoisePrior(eqx.Module):
    """Process variances are log-normal about a share of the mean measurement variance.

    Where states are poorly measured the evidence is flat below some process noise, and its maximum is at none at all,
    which is nowhere near its mean. This keeps the estimate off that edge and costs next to nothing where data speak:
    to be wrong by a factor of ten in variance costs two thirds of a nat in all.
    """

    share: float = eqx.field(static=True, default=0.1)
    """Median of process variance over measurement variance."""
    spread: float = eqx.field(static=True, default=2.0)
    """Standard deviation of its natural logarithm."""

    def log_prob(self, model: GPSSM) -> Float[Array, ""]:
        """Up to a constant."""
        median = self.share * jnp.mean(model.emission.noise_variance())
        ratio = jnp.log(model.transition.noise_variance()) - jnp.log(median)
        return -0.5 * jnp.sum((ratio / self.spread) ** 2)
