"""A filter that is fed one sample at a time, as in a control loop."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from gpssm._core._compile import compile_for_setup
from gpssm._core._precision import double_precision
from gpssm.data import DataError, Scaler
from gpssm.data._errors import LARGEST_VALUE, Numbers, real_array
from gpssm.filters._base import AbstractFilter
from gpssm.models._gpssm import GPSSM
from gpssm.models.transition import AbstractDynamics, AbstractTransition, Conditioned
from gpssm.predict._online_step import OnlineStep

_HERE = "online filter"


class OnlineFilter:
    """Holds the present estimate; `update(y, u)` takes the measurement at this step and the control held from it on.

    With a Gaussian filter its estimates equal those of `System.filter` on the whole record. Everything is compiled when
    it is made, because a control loop cannot wait for that at its first samples.

    - `state`, `chol`: where the state is before the first sample, and a factor of its covariance; by default the
      standard normal that training assumes.
    - `gate`: an output that differs from what is expected by more than so many standard deviations is refused, which
      means taken as missing: a sensor that fails must not carry the state away. None takes every measurement.
    """

    @double_precision
    def __init__(
        self,
        model: GPSSM,
        scaler: Scaler,
        filter_: AbstractFilter,
        *,
        state: Numbers | None = None,
        chol: Numbers | None = None,
        gate: float | None = None,
        key: PRNGKeyArray,
    ):
        if gate is not None and not gate > 0.0:
            raise DataError(f"gate={gate}: how many standard deviations an output may be off, so more than 0, or None")
        conditioned = eqx.tree_at(lambda m: m.transition, model, Conditioned(_condition(model.transition)))
        step = OnlineStep(filter_, conditioned, scaler, np.inf if gate is None else float(gate), key)
        self._scaler, self._told = scaler, step.told
        self._direct = None if scaler.direct is None else scaler.direct_outputs
        self._dtype = np.dtype(model.emission.noise_variance().dtype)
        self._outputs, self._inputs, self._size = scaler.output_mean.shape, scaler.input_mean.shape, model.state_dim
        # The number of the sample, the control that led to it, and the measurement: the only thing that is handed over.
        self._sample = np.zeros(1 + len(scaler.input_mean) + len(scaler.output_mean))
        self._start = self._default = self._begin(state, chol)
        shapes = jax.eval_shape(step.first, self._sample, self._start)
        self._first = jax.jit(step.first).lower(self._sample, self._start).compile()
        self._later = jax.jit(step.later).lower(shapes, self._sample).compile()
        self.reset()

    def reset(self, state: Numbers | None = None, *, chol: Numbers | None = None) -> None:
        """Begin anew, as after a jump or a change of load: at the given state, or where it began at first."""
        self._start = self._default if state is None and chol is None else self._begin(state, chol)
        self._sample[:] = 0.0
        self._state: Any = None
        self._measured = np.full(self._outputs, np.nan)
        self._at_once = np.zeros(self._outputs)
        self._last = np.full(self._told, np.nan)

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
        # What the control adds to the output at once is known, and no news of the state.
        self._at_once = np.zeros(self._outputs) if self._direct is None else self._direct(control)
        self._sample[split:] = measured - self._at_once
        if self._state is None:
            self._state = self._first(self._sample, self._start)
        else:
            self._state = self._later(self._state, self._sample)
        # Copying waits for it: only then may the sample be written over.
        size = self._size
        self._last = np.array(self._state)[: self._told]
        self._measured = np.array(measured)
        self._sample[0] += 1.0
        self._sample[1:split] = control
        estimate = self._last[: size + size * size].astype(self._dtype)
        return estimate[:size], estimate[size:].reshape(size, size)

    @property
    def predicted(self) -> Float[np.ndarray, " O"]:
        """The outputs that were expected at the last sample before it was measured; NaN before the first."""
        return self._scaler.undo_mean(self._part(0)[None])[0] + self._at_once

    @property
    def predicted_std(self) -> Float[np.ndarray, " O"]:
        """Standard deviation of what sensors were expected to show."""
        return self._scaler.undo_std(self._part(1))

    @property
    def innovation(self) -> Float[np.ndarray, " O"]:
        """What the last sample said that was not expected: measured less predicted; NaN where it was missing."""
        return self._measured - self.predicted

    @property
    def refused(self) -> np.ndarray:
        """Which outputs of the last sample the gate has taken as missing."""
        return self._part(2) == 1.0

    def _part(self, which: int) -> np.ndarray:
        begin, outputs = self._size + self._size**2, self._outputs[0]
        return self._last[begin + which * outputs : begin + (which + 1) * outputs]

    def _begin(self, state: Numbers | None, chol: Numbers | None) -> np.ndarray:
        size = self._size
        mean = np.zeros(size) if state is None else np.asarray(real_array(state, what="state", where=_HERE), float)
        if chol is None:
            # A state that is given is certain, as one to simulate from is.
            factor = np.eye(size) if state is None else np.zeros((size, size))
        else:
            factor = np.asarray(real_array(chol, what="chol", where=_HERE), float)
        if mean.shape != (size,) or factor.shape != (size, size):
            raise DataError(
                f"state and chol have shapes {mean.shape} and {factor.shape}; this model has {size} states, so that "
                f"they must be {(size,)} and {(size, size)}"
            )
        begin = np.concatenate([mean, factor.ravel()])
        if not np.isfinite(begin).all():
            raise DataError("the state to start from, and its chol, must be finite numbers")
        return begin


@compile_for_setup
def _condition(transition: AbstractTransition) -> AbstractDynamics:
    """Compiled, so that a second filter for a model of the same shape starts at once."""
    return transition.condition()
