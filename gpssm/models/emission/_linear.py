"""Outputs that are linear in the state, with Gaussian noise."""

import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, ArrayLike, Bool, Float, PRNGKeyArray
from paramax import AbstractUnwrappable

from gpssm._core._gaussian import expected_log_normal, masked_sum
from gpssm._core._params import Positive, val
from gpssm.models.emission._base import AbstractEmission, gaussian_log_prob, with_gaussian_noise


class LinearGaussian(AbstractEmission):
    """y = weight x + offset + noise, noise independent between outputs."""

    weight: Float[Array, "O D"] | AbstractUnwrappable
    offset: Float[Array, " O"] | AbstractUnwrappable
    noise: Positive | AbstractUnwrappable

    @classmethod
    def first_states(
        cls, outputs: int, states: int, *, noise: ArrayLike = 0.01, learn: bool = False
    ) -> "LinearGaussian":
        """The outputs are the first states: weight [I 0]. Fixed unless `learn`; the noise is learnt either way."""
        return cls.selecting(list(range(min(outputs, states))), states, outputs=outputs, noise=noise, learn=learn)

    @classmethod
    def selecting(
        cls,
        indices: list[int],
        states: int,
        *,
        outputs: int | None = None,
        noise: ArrayLike = 0.01,
        learn: bool = False,
    ) -> "LinearGaussian":
        """Output i is state `indices[i]`."""
        outputs = len(indices) if outputs is None else outputs
        chosen = np.zeros((outputs, states))
        chosen[np.arange(len(indices)), np.asarray(indices)] = 1.0
        weight, offset = jnp.asarray(chosen), jnp.asarray(np.zeros(outputs))
        noises = Positive.of(jnp.broadcast_to(jnp.asarray(noise, weight.dtype), (outputs,)))
        if learn:
            return cls(weight, offset, noises)
        return cls(paramax.non_trainable(weight), paramax.non_trainable(offset), noises)

    def mean(self, x: Float[Array, "*B D"]) -> Float[Array, "*B O"]:
        """weight x + offset."""
        offset = jnp.reshape(val(self.offset), (1,) * (x.ndim - 1) + (-1,))
        return jnp.matmul(x, val(self.weight).T) + offset

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
        """log N(y | weight m + offset, s^2) - diag(weight S weight') / (2 s^2), summed over the observed entries."""
        weight = val(self.weight)
        spread = jnp.einsum("oi,tij,oj->to", weight, covariances, weight)
        squares = (y - self.mean(means)) ** 2 + spread
        return masked_sum(expected_log_normal(squares, self.noise_variance()[None, :]), where)
