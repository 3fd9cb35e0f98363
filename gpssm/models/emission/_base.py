"""What an emission answers: how the outputs are measured from the state."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from gpssm._core._gaussian import expected_log_normal


class AbstractEmission(eqx.Module):
    """The distribution of the outputs given the state, independent between outputs."""

    @abstractmethod
    def expected_log_prob(
        self,
        y: Float[Array, "T O"],
        means: Float[Array, "T D"],
        covariances: Float[Array, "T D D"],
        *,
        where: Bool[Array, "T O"],
    ) -> Float[Array, ""]:
        """Sum over the observed entries of E log p(y | x) for x ~ N(mean, covariance)."""

    @abstractmethod
    def mean(self, x: Float[Array, "*B D"]) -> Float[Array, "*B O"]:
        """Noise-free output of a state."""

    @abstractmethod
    def noise_variance(self) -> Float[Array, " O"]:
        """Variance of the measurement noise for each output, with which Gaussian filters work."""

    @abstractmethod
    def log_prob(self, y: Float[Array, " O"], x: Float[Array, " D"]) -> Float[Array, " O"]:
        """log p(y | x), an entry for each output."""

    @abstractmethod
    def sample(self, signals: Float[Array, "*B O"], *, key: PRNGKeyArray) -> Float[Array, "*B O"]:
        """Measurements of noise-free outputs."""


def gaussian_log_prob(
    y: Float[Array, " O"], mean: Float[Array, " O"], variance: Float[Array, " O"]
) -> Float[Array, " O"]:
    """log N(y | mean, variance) of each output."""
    return expected_log_normal((y - mean) ** 2, variance)


def with_gaussian_noise(
    signals: Float[Array, "*B O"], variance: Float[Array, " O"], key: PRNGKeyArray
) -> Float[Array, "*B O"]:
    """Noise of the given variances added."""
    deviation = jnp.reshape(jnp.sqrt(variance), (1,) * (signals.ndim - 1) + (-1,))
    return signals + deviation * jr.normal(key, signals.shape, signals.dtype)
