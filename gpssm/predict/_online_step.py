"""The compiled part of an update of the online filter."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.data import Scaler
from gpssm.filters._base import AbstractFilter, FilterInput, cuthbert_promotion
from gpssm.models._gpssm import GPSSM
from gpssm.models.transition import Conditioned, LinearMean
from gpssm.models.transition._linear import LinearDynamics


class OnlineStep:
    """From one array to one array: handing over each part of a filter's state by itself takes longer than the
    arithmetic. Model and scale belong to the program for the same reason.

    What comes out begins with mean and covariance of the state, the outputs that were expected, their standard
    deviations and which of those measured were refused; what the filter remembers follows.
    """

    def __init__(self, filter_: AbstractFilter, model: GPSSM, scaler: Scaler, gate: float, key: PRNGKeyArray):
        self._filter, self._model, self._key, self._scaler, self._gate = filter_, model, key, scaler, gate
        self._dtype = model.emission.noise_variance().dtype
        self._like: Any = None

    @property
    def told(self) -> int:
        """How many numbers come before what the filter remembers."""
        size = self._model.state_dim
        return size + size * size + 3 * len(self._scaler.output_mean)

    def first(self, sample: Float[Array, " S"], start: Float[Array, " B"]) -> Float[Array, " N"]:
        """After the first sample; `start` is the mean of the state before it, and the factor of its covariance."""
        size = self._model.state_dim
        mean, chol = start[:size].astype(self._dtype), start[size:].reshape(size, size).astype(self._dtype)
        # Filters begin with a standard normal state, which a first step without noise moves to where it is to be.
        silent = jnp.zeros((size, len(self._scaler.input_mean)), self._dtype)
        origin = LinearDynamics(LinearMean(chol, silent, mean), jnp.zeros_like(mean))
        model = eqx.tree_at(lambda m: m.transition, self._model, Conditioned(origin))
        return self._next(model, None, sample)

    def later(self, told: Float[Array, " N"], sample: Float[Array, " S"]) -> Float[Array, " N"]:
        """After another sample."""
        return self._next(self._model, _unpacked(told[self.told :], self._like), sample)

    def _next(self, model: GPSSM, state: Any, sample: Array) -> Array:
        """A sample is its number, the control that led to it, and the measurement."""
        scaler, inputs = self._scaler, len(self._scaler.input_mean)
        u = jnp.zeros(inputs) if state is None else (sample[1 : 1 + inputs] - scaler.input_mean) / scaler.input_scale
        y = ((sample[1 + inputs :] - scaler.output_mean) / scaler.output_scale).astype(self._dtype)
        nothing = FilterInput(u.astype(self._dtype), jnp.full_like(y, jnp.nan), jnp.asarray(False))
        built = self._filter.build(model)
        start_key, step_key = jr.split(jr.fold_in(self._key, sample[0].astype(jnp.uint32)))
        before = built.init_prepare(key=start_key)._replace(model_inputs=nothing) if state is None else state

        def after(seen: Array) -> Any:
            with cuthbert_promotion():
                return built.filter_combine(before, built.filter_prepare(nothing._replace(y=seen), key=step_key))

        # Without a measurement a step only predicts, whichever filter it is.
        expected, spread = self._outputs(*self._filter.moments(after(nothing.y)))
        refused = jnp.abs(y - expected) > self._gate * spread
        state = after(jnp.where(refused, jnp.nan, y))
        self._like = jax.eval_shape(lambda: state)
        mean, chol = self._filter.moments(state)
        parts = (mean, (chol @ chol.T).ravel(), expected, spread, refused)
        return jnp.concatenate([*(part.astype(float) for part in parts), _packed(state)])

    def _outputs(self, mean: Array, chol: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of what sensors show of a Gaussian state, to first order."""
        emission = self._model.emission
        pushed = jax.vmap(lambda column: jax.jvp(emission.mean, (mean,), (column,))[1], in_axes=1)(chol)
        return emission.mean(mean), jnp.sqrt(jnp.sum(pushed**2, axis=0) + emission.noise_variance())


def _packed(state: Any) -> Float[Array, " N"]:
    """All that a filter remembers as one row of numbers. Double precision holds smaller numbers, truth values and whole
    numbers as they are."""
    return jnp.concatenate([_plain(leaf).astype(float).ravel() for leaf in jax.tree.leaves(state)])


def _unpacked(row: Float[Array, " N"], like: Any) -> Any:
    leaves, begin = [], 0
    for leaf in jax.tree.leaves(like):
        plain = jax.eval_shape(_plain, leaf)
        values = row[begin : begin + plain.size].reshape(plain.shape).astype(plain.dtype)
        leaves.append(jr.wrap_key_data(values) if _is_key(leaf) else values)
        begin += plain.size
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _plain(leaf: Array) -> Array:
    return jr.key_data(leaf) if _is_key(leaf) else leaf


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
