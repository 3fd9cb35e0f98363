"""A filter that is fed one sample at a time, as in a control loop."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._compile import compile_for_setup
from gpssm._core._precision import double_precision
from gpssm.data import DataError, Scaler
from gpssm.data._errors import LARGEST_VALUE, Numbers, real_array
from gpssm.filters._base import AbstractFilter, FilterInput, cuthbert_promotion
from gpssm.models._gpssm import GPSSM
from gpssm.models.transition import AbstractDynamics, AbstractTransition, Conditioned

_HERE = "online filter"


class OnlineFilter:
    """Holds the present estimate; `update(y, u)` takes the measurement at this step and the control held from it on.

    With a Gaussian filter its estimates equal those of `System.filter` on the whole record. Everything is compiled when
    it is made, because a control loop cannot wait for that at its first samples.
    """

    @double_precision
    def __init__(self, model: GPSSM, scaler: Scaler, filter_: AbstractFilter, *, key: PRNGKeyArray):
        conditioned = eqx.tree_at(lambda m: m.transition, model, Conditioned(_condition(model.transition)))
        step = _Step(filter_, conditioned, scaler, key)
        self._dtype = np.dtype(model.emission.noise_variance().dtype)
        self._outputs, self._inputs, self._size = scaler.output_mean.shape, scaler.input_mean.shape, model.state_dim
        # The number of the sample, the control that led to it, and the measurement: the only thing that is handed over.
        self._sample = np.zeros(1 + len(scaler.input_mean) + len(scaler.output_mean))
        self._first = jax.jit(step.first).lower(self._sample).compile()
        self._later = jax.jit(step.later).lower(jax.eval_shape(step.first, self._sample), self._sample).compile()
        self._state: Any = None

    @double_precision
    def update(self, y: Numbers | float | int, u: Numbers | float | int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Take a measurement (NaN where missing) and the control applied now. Returns mean and covariance of the
        latent state."""
        control = np.zeros(0) if u is None else np.atleast_1d(real_array(u, what="u", where=_HERE))
        measured = np.atleast_1d(real_array(y, what="y", where=_HERE))
        # Of a few numbers, Python's comparisons are the quickest. One with NaN is False.
        if control.shape != self._inputs or not all(abs(value) <= LARGEST_VALUE for value in control.tolist()):
            raise DataError(f"u has shape {control.shape}; expected {self._inputs} finite numbers up to 1e100 in size")
        if measured.shape != self._outputs or any(abs(value) > LARGEST_VALUE for value in measured.tolist()):
            raise DataError(
                f"y has shape {measured.shape}; expected {self._outputs} finite numbers up to 1e100 in size, or NaN"
            )
        split = 1 + len(control)
        self._sample[split:] = measured
        self._state = self._first(self._sample) if self._state is None else self._later(self._state, self._sample)
        # Copying waits for it: only then may the sample be written over.
        size = self._size
        told = np.asarray(self._state)[: size + size * size].astype(self._dtype)
        self._sample[0] += 1.0
        self._sample[1:split] = control
        return told[:size], told[size:].reshape(size, size)


class _Step:
    """The compiled part of an update, from one array to one array: handing over each part of a filter's state by itself
    takes longer than the arithmetic. Model and scale belong to the program for the same reason."""

    def __init__(self, filter_: AbstractFilter, model: GPSSM, scaler: Scaler, key: PRNGKeyArray):
        self._filter, self._model, self._key, self._scaler = filter_, model, key, scaler
        self._dtype = model.emission.noise_variance().dtype
        self._like: Any = None

    def first(self, sample: Float[Array, " S"]) -> Float[Array, " N"]:
        """Mean, covariance and filter state after the first sample, one after the other."""
        return self._next(None, sample)

    def later(self, told: Float[Array, " N"], sample: Float[Array, " S"]) -> Float[Array, " N"]:
        """The same after another sample."""
        size = self._model.state_dim
        return self._next(_unpacked(told[size + size * size :], self._like), sample)

    def _next(self, state: Any, sample: Array) -> Array:
        """A sample is its number, the control that led to it, and the measurement."""
        scaler, inputs = self._scaler, len(self._scaler.input_mean)
        u = jnp.zeros(inputs) if state is None else (sample[1 : 1 + inputs] - scaler.input_mean) / scaler.input_scale
        y = (sample[1 + inputs :] - scaler.output_mean) / scaler.output_scale
        seen = FilterInput(u.astype(self._dtype), y.astype(self._dtype), jnp.asarray(state is None))
        built = self._filter.build(self._model)
        start_key, step_key = jr.split(jr.fold_in(self._key, sample[0].astype(jnp.uint32)))
        before = built.init_prepare(key=start_key)._replace(model_inputs=seen) if state is None else state
        with cuthbert_promotion():
            after = built.filter_combine(before, built.filter_prepare(seen, key=step_key))
        self._like = jax.eval_shape(lambda: after)
        mean, chol = self._filter.moments(after)
        return jnp.concatenate([mean.astype(float), (chol @ chol.T).astype(float).ravel(), _packed(after)])


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


@compile_for_setup
def _condition(transition: AbstractTransition) -> AbstractDynamics:
    """Compiled, so that a second filter for a model of the same shape starts at once."""
    return transition.condition()
