"""Outputs that are the magnitude of something linear in the state."""

import jax.numpy as jnp
from jax.scipy.special import erf
from jaxtyping import Array, Bool, Float, PRNGKeyArray
from paramax import AbstractUnwrappable

from gpssm._core._gaussian import expected_log_normal, masked_sum
from gpssm._core._params import Positive, val
from gpssm.models.emission._base import AbstractEmission, gaussian_log_prob, with_gaussian_noise


class Magnitude(AbstractEmission):
    """y = floor + |weight x + offset| + noise: a sensor without sign, such as one that counts the pulses of a shaft.

    The floor is what the sensor shows at zero, in the model's units; it is known and not learnt.
    """

    weight: Float[Array, "O D"]
    offset: Float[Array, " O"]
    floor: AbstractUnwrappable
    noise: Positive

    def mean(self, x: Float[Array, "*B D"]) -> Float[Array, "*B O"]:
        """floor + |weight x + offset|."""
        shape = (1,) * (x.ndim - 1) + (-1,)
        signed = jnp.matmul(x, self.weight.T) + jnp.reshape(self.offset, shape)
        return jnp.reshape(val(self.floor), shape) + jnp.abs(signed)

    def noise_variance(self) -> Float[Array, " O"]:
        """Variance of the measurement noise."""
        return val(self.noise)

    def log_prob(self, y: Float[Array, " O"], x: Float[Array, " D"]) -> Float[Array, " O"]:
        """log N(y | mean, noise variance)."""
        return gaussian_log_prob(y, self.mean(x), self.noise_variance())

    def sample(self, signals: Float[Array, "*B O"], *, key: PRNGKeyArray) -> Float[Array, "*B O"]:
        """Gaussian noise added."""
        return with_gaussian_noise(signals, self.noise_variance(), key)

    def expected_log_prob(
        self,
        y: Float[Array, "T O"],
        means: Float[Array, "T D"],
        covariances: Float[Array, "T D D"],
        *,
        where: Bool[Array, "T O"],
    ) -> Float[Array, ""]:
        """In closed form: the signed output is Gaussian, and the mean of its magnitude is that of a folded normal."""
        signed = means @ self.weight.T + self.offset[None, :]
        variance = jnp.einsum("oi,tij,oj->to", self.weight, covariances, self.weight)
        deviation = jnp.sqrt(jnp.maximum(variance, 1e-12))
        ratio = signed / deviation
        folded = deviation * jnp.sqrt(2.0 / jnp.pi) * jnp.exp(-0.5 * ratio**2) + signed * erf(ratio / jnp.sqrt(2.0))
        above = y - val(self.floor)[None, :]
        squares = above**2 - 2.0 * above * folded + signed**2 + variance
        return masked_sum(expected_log_normal(squares, self.noise_variance()[None, :]), where)
