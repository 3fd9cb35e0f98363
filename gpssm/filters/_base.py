"""What a filter answers: the state given the outputs so far, under a learnt model, by cuthbert's algorithms.

cuthbert starts at a state that has not been measured and makes a transition before each measurement, while here y[0]
measures x[0]. The first transition is therefore the identity without noise. A missing output is NaN for cuthbert;
only this package knows that.

cuthbert brings a compiler of its own with it, and is imported where a filter is built: whoever only fits, or finds the
filter ready compiled, does not wait for it.
"""

from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from gpssm.models import GPSSM
from gpssm.models.transition import AbstractDynamics

if TYPE_CHECKING:
    import cuthbert


class FilterInput(NamedTuple):
    """What a filter step sees: the control that led here, the measurement (NaN where missing), and whether the state
    stays as it was: at the first step, and at those that fill up a record."""

    u: Float[Array, "*B P"]
    y: Float[Array, "*B O"]
    stays: Bool[Array, "*B"]


class AbstractFilter(eqx.Module):
    """A filter for a given model."""

    @abstractmethod
    def build(self, model: GPSSM) -> "cuthbert.Filter":
        """The filter as cuthbert runs it."""

    @abstractmethod
    def moments(self, state: Any) -> tuple[Float[Array, " D"], Float[Array, "D D"]]:
        """Mean and Cholesky factor of a filter state."""


def filter_inputs(
    y: Float[Array, "T O"], u: Float[Array, "T P"], observed: Bool[Array, "T O"], stays: Bool[Array, " T"]
) -> FilterInput:
    """Shift the controls to the step they lead to, and mark what is missing."""
    led_here = jnp.concatenate([jnp.zeros_like(u[:1]), u[:-1]])
    return FilterInput(led_here, jnp.where(observed, y, jnp.nan), stays)


def next_moments(dynamics: AbstractDynamics, x: Array, inputs: FilterInput) -> tuple[Array, Array]:
    """Mean and diagonal factor of the state that follows; of one that stays, of itself without noise."""
    mean, variance = dynamics.moments(x, inputs.u)
    spread = jnp.sqrt(variance + dynamics.noise_variance())
    mean = jnp.where(inputs.stays, x, mean)
    return mean, jnp.where(inputs.stays, 0.0, spread)[:, None] * jnp.eye(x.shape[0], dtype=x.dtype)


def cuthbert_promotion() -> AbstractContextManager:
    """cuthbert broadcasts arrays of different rank where there is one output; a caller may have forbidden that for
    his own code."""
    return jax.numpy_rank_promotion("allow")


def run_filter(
    filter_: AbstractFilter,
    model: GPSSM,
    y: Float[Array, "T O"],
    u: Float[Array, "T P"],
    observed: Bool[Array, "T O"],
    *,
    steps: Int[Array, ""] | None = None,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "T D"], Float[Array, "T D D"], Float[Array, ""]]:
    """Means, factors and the log-evidence of a whole record.

    If `steps` is given, the record has so many rows; those after them fill it up, must be unobserved, and change
    nothing.
    """
    import cuthbert

    built = filter_.build(model)
    start_key, run_key = jr.split(key)
    at = jnp.arange(y.shape[0])
    last = at[-1] + 1 if steps is None else steps
    inputs = filter_inputs(y, u, observed, (at == 0) | (at >= last))
    with cuthbert_promotion():
        states = cuthbert.filter(built, inputs, built.init_prepare(key=start_key), key=run_key)
    means, chols = jax.vmap(filter_.moments)(jax.tree.map(lambda leaf: leaf[1:], states))
    return means, chols, states.log_normalizing_constant[last]
