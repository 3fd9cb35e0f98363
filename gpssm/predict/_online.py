"""A filter that is fed one sample at a time, as in a control loop."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._precision import double_precision
from gpssm.data import DataError, Scaler
from gpssm.data._errors import LARGEST_VALUE, Numbers, real_array
from gpssm.filters._base import AbstractFilter, FilterInput, cuthbert_promotion
from gpssm.models._gpssm import GPSSM
from gpssm.models.transition import AbstractDynamics, AbstractTransition, Conditioned

_HERE = "online filter"


class OnlineFilter:
    """Holds the present estimate; `update(y, u)` takes the measurement at this step and the control held from it on.

    With a Gaussian filter its estimates equal those of `System.filter` on the whole record.
    """

    def __init__(self, model: GPSSM, scaler: Scaler, filter_: AbstractFilter, *, key: PRNGKeyArray):
        with jax.enable_x64(True):
            conditioned = Conditioned(_condition(model.transition))
        self._model = eqx.tree_at(lambda m: m.transition, model, conditioned)
        self._scaler, self._filter, self._key = scaler, filter_, key
        self._dtype = model.emission.noise_variance().dtype
        self._steps = 0
        self._state: Any = None
        self._control: Float[Array, " P"] | None = None

    @double_precision
    def update(self, y: Numbers | float | int, u: Numbers | float | int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Take a measurement (NaN where missing) and the control applied now. Returns mean and covariance of the
        latent state."""
        control = self._scaled_control(u)
        measured = np.atleast_1d(real_array(y, what="y", where=_HERE))
        if measured.shape != self._scaler.output_mean.shape or np.isinf(measured).any():
            raise DataError(
                f"y has shape {measured.shape}; expected {self._scaler.output_mean.shape} finite numbers or NaN"
            )
        _check_size(measured, "y", "pass NaN where a measurement is missing")
        scaled = jnp.asarray((measured - self._scaler.output_mean) / self._scaler.output_scale, self._dtype)
        before = jnp.zeros_like(control) if self._control is None else self._control
        inputs = FilterInput(before, scaled, jnp.asarray(self._steps == 0))
        key = jr.fold_in(self._key, self._steps)
        self._state = _step(self._filter, self._model, self._state, inputs, key)
        self._control, self._steps = control, self._steps + 1
        mean, chol = self._filter.moments(self._state)
        return np.asarray(mean), np.asarray(chol @ chol.T)

    def _scaled_control(self, u: Numbers | float | int | None) -> Float[Array, " P"]:
        wanted = self._scaler.input_mean.shape
        control = np.zeros(0) if u is None else np.atleast_1d(real_array(u, what="u", where=_HERE))
        if control.shape != wanted or not np.isfinite(control).all():
            raise DataError(f"u has shape {control.shape}; expected {wanted} finite numbers")
        _check_size(control, "u", "inputs must be known at every step: correct it")
        return jnp.asarray(self._scaler.apply_inputs(control), self._dtype)


def _check_size(values: np.ndarray, what: str, fix: str) -> None:
    """One such value would throw the estimate so far off that it takes many samples to come back."""
    for value in values[np.abs(values) > LARGEST_VALUE]:
        raise DataError(f"{_HERE}: {what} holds {value:g}, beyond anything measurable; {fix}")


@eqx.filter_jit
def _condition(transition: AbstractTransition) -> AbstractDynamics:
    """Compiled, so that a second filter for a model of the same shape starts at once."""
    return transition.condition()


@eqx.filter_jit
def _step(filter_: AbstractFilter, model: GPSSM, state: Any, inputs: FilterInput, key: PRNGKeyArray) -> Any:
    built = filter_.build(model)
    start_key, step_key = jr.split(key)
    before = built.init_prepare(key=start_key)._replace(model_inputs=inputs) if state is None else state
    with cuthbert_promotion():
        return built.filter_combine(before, built.filter_prepare(inputs, key=step_key))
