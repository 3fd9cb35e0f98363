"""Emissions: how the outputs are measured from the state."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import paramax
from jax.scipy.special import erf
from jaxtyping import Array, ArrayLike, Bool, Float
from paramax import AbstractUnwrappable

from gpssm._gaussian import expected_log_normal, masked_sum
from gpssm._params import Positive, val


class AbstractEmission(eqx.Module):
    """The distribution of the outputs given the state."""

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
        """Variance of the measurement noise for each output."""


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
