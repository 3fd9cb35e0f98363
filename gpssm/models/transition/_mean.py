"""Mean functions of the transition: what the system is believed to do before the GP says otherwise."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class AbstractMean(eqx.Module):
    """Prior mean of the next state."""

    @abstractmethod
    def __call__(self, x: Float[Array, "*B D"], u: Float[Array, "*B P"]) -> Float[Array, "*B D"]:
        """The expected next state, for one point or a batch."""


class IdentityMean(AbstractMean):
    """The state stays where it is: the GP models the increment, as in the paper."""

    def __call__(self, x: Float[Array, "*B D"], u: Float[Array, "*B P"]) -> Float[Array, "*B D"]:
        """The state itself."""
        return x


class FadingMean(AbstractMean):
    """The state fades to zero: next = rate x. Where nothing is known, free runs return to the mean of the data instead
    of standing still, which decides how long ones end."""

    rate: float = eqx.field(static=True, default=0.9)

    def __check_init__(self) -> None:
        if not -1.0 < self.rate < 1.0:
            raise ValueError(f"rate={self.rate}: a state fades if its rate lies between -1 and 1")

    def __call__(self, x: Float[Array, "*B D"], u: Float[Array, "*B P"]) -> Float[Array, "*B D"]:
        """A share of the state."""
        return self.rate * x


class LinearMean(AbstractMean):
    """next = state_matrix x + control_matrix u + offset: the GP models what a linear model misses."""

    state_matrix: Float[Array, "D D"]
    control_matrix: Float[Array, "D P"]
    offset: Float[Array, " D"]

    def __call__(self, x: Float[Array, "*B D"], u: Float[Array, "*B P"]) -> Float[Array, "*B D"]:
        """The linear prediction."""
        offset = jnp.reshape(self.offset, (1,) * (x.ndim - 1) + (-1,))
        return jnp.matmul(x, self.state_matrix.T) + jnp.matmul(u, self.control_matrix.T) + offset
