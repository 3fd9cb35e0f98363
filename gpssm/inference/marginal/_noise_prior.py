"""A weak belief about the process noise."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm.models import GPSSM


class NoisePrior(eqx.Module):
    """Process variances are not believed to be far below a share of the mean measurement variance.

    Where states are poorly measured the evidence is flat below some process noise, and its maximum is at none at all,
    which is nowhere near its mean. This keeps the estimate off that edge: half of a log-normal density below the share,
    flat above it. To be a tenth of the share costs two thirds of a nat in all, so that data which speak are heard.
    """

    share: float = eqx.field(static=True, default=0.1)
    """Of the measurement variance, below which doubt begins."""
    spread: float = eqx.field(static=True, default=2.0)
    """Standard deviation of the natural logarithm of the variance below it."""

    def log_prob(self, model: GPSSM) -> Float[Array, ""]:
        """Up to a constant."""
        edge = self.share * jnp.mean(model.emission.noise_variance())
        below = jnp.minimum(jnp.log(model.transition.noise_variance()) - jnp.log(edge), 0.0)
        return -0.5 * jnp.sum((below / self.spread) ** 2)
