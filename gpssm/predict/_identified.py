"""An identified system: the learnt model with everything needed to use it in the user's units."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._history import History
from gpssm._model import GPSSM
from gpssm._precision import Portable, double_precision
from gpssm.data import DataError, Episode, Episodes, Scaler
from gpssm.data._errors import Numbers
from gpssm.data._padded import pad
from gpssm.predict import _run
from gpssm.predict._estimators import UKF, AbstractEstimator
from gpssm.predict._online import OnlineFilter
from gpssm.predict._propagate import AbstractPropagation, MeanOnly, Pathwise
from gpssm.predict._rollout import Rollout, States
from gpssm.predict._start import AbstractStart, Filtered, Recognised
from gpssm.recognition import AbstractRecognition

if TYPE_CHECKING:
    from gpssm.report import Report

Start = tuple[Float[Array, " D"], Float[Array, "D D"]]


@dataclass(frozen=True)
class Identified(Portable):
    """A learnt system. Scale is entered and left here: everything given and returned is in the user's units."""

    model: GPSSM
    scaler: Scaler
    recognition: AbstractRecognition | None
    """Reads the state off the outputs. Where there is none, filters do."""
    output_names: tuple[str, ...]
    input_names: tuple[str, ...]
    dt: float | None = None
    history: History | None = None
    """How the fit went."""

    @double_precision
    def smooth(self, episode: Episode, *, by: Recognised | None = None) -> States:
        """The states of a record given all of it, by an extended Kalman smoother on the learnt model.

        With `by=Recognised()` the recognition network reads them instead: quicker, and as good on records like those
        it was trained on.
        """
        if by is not None:
            return self._states(*self._recognised(episode), None)
        means, chols, evidence = _run.smoothed(self.model, *self._arrays(episode))
        return self._states(means, chols, float(evidence))

    @double_precision
    def filter(
        self, episode: Episode, *, estimator: AbstractEstimator | None = None, key: PRNGKeyArray | None = None
    ) -> States:
        """The state at each step given the outputs up to it. The key is needed by particle filters only."""
        key = jr.key(0) if key is None else key
        means, chols, evidence = _run.filtered(estimator or UKF(), self.model, *self._arrays(episode), key)
        return self._states(means, chols, float(evidence))

    def online(self, *, estimator: AbstractEstimator | None = None, key: PRNGKeyArray | None = None) -> OnlineFilter:
        """A filter that is fed one sample at a time."""
        return OnlineFilter(self.model, self.scaler, estimator or UKF(), key=jr.key(0) if key is None else key)

    @double_precision
    def simulate(
        self,
        episode: Episode,
        *,
        n_init: int,
        num_samples: int = 200,
        propagation: AbstractPropagation | None = None,
        start: AbstractStart | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """Free run over a record: sees all its controls, but of its outputs only the first `n_init`.

        The start is read off those samples by a filter on the learnt model, or as `start` says. The result begins at
        step `n_init`.
        """
        if not 1 <= n_init < len(episode):
            raise DataError(
                f"n_init={n_init}: need at least 1 and fewer than the {len(episode)} samples of '{episode.name}'"
            )
        self._check_channels(episode)
        start_key, run_key = jr.split(key)
        state = self._start(episode.head(n_init), start or Filtered(), start_key)
        controls = self._controls(episode.u[n_init - 1 : -1])
        return self._rollout(state, controls, n_init, True, num_samples, propagation, run_key)

    @double_precision
    def forecast(
        self,
        episode: Episode,
        *,
        inputs: Numbers | None = None,
        steps: int | None = None,
        num_samples: int = 200,
        propagation: AbstractPropagation | None = None,
        start: AbstractStart | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """Beyond the end of a record, under the inputs of the steps to come (or for `steps` steps if there are no
        inputs).

        Row i of `inputs` belongs to step len(episode) + i; the last row is held after the last predicted output and
        not used.
        """
        future = self._future_inputs(inputs, steps)
        start_key, run_key = jr.split(key)
        state = self._start(episode, start or Filtered(), start_key)
        controls = self._controls(np.concatenate([episode.u[-1:], future[:-1]]))
        return self._rollout(state, controls, len(episode), True, num_samples, propagation, run_key)

    @double_precision
    def simulate_from(
        self,
        state: Numbers,
        *,
        chol: Numbers | None = None,
        inputs: Numbers | None = None,
        steps: int | None = None,
        num_samples: int = 200,
        propagation: AbstractPropagation | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """Free run from a given latent state (uncertain if `chol` is given); the first output is that of the state
        itself."""
        future = self._future_inputs(inputs, steps)
        size = self.model.state_dim
        mean = np.asarray(state, dtype=float)
        factor = np.zeros((size, size)) if chol is None else np.asarray(chol, dtype=float)
        if mean.shape != (size,):
            raise DataError(f"the state has shape {mean.shape}, but this model has {size} states")
        if factor.shape != (size, size):
            raise DataError(f"chol has shape {factor.shape}; for {size} states it must be {(size, size)}")
        if not (np.isfinite(mean).all() and np.isfinite(factor).all()):
            raise DataError("the state to start from, and its chol, must be finite numbers")
        start = jnp.asarray(mean, self._dtype), jnp.asarray(factor, self._dtype)
        return self._rollout(start, self._controls(future[:-1]), 0, False, num_samples, propagation, key)

    @double_precision
    def predict(
        self,
        episode: Episode,
        *,
        horizon: int,
        num_samples: int = 100,
        propagation: AbstractPropagation | None = None,
        estimator: AbstractEstimator | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """`horizon` steps ahead from the filtered state at every step; the result begins at step `horizon`."""
        if not 1 <= horizon < len(episode):
            raise DataError(
                f"horizon={horizon}: need at least 1 and fewer than the {len(episode)} samples of '{episode.name}'"
            )
        propagation = propagation or Pathwise()
        num_samples = _num_samples(num_samples, propagation)
        filter_key, run_key, noise_key = jr.split(key, 3)
        y, u, observed = self._arrays(episode)
        means, chols, _ = _run.filtered(estimator or UKF(), self.model, y, u, observed, filter_key)
        chols = jnp.zeros_like(chols) if isinstance(propagation, MeanOnly) else chols
        count = len(episode) - horizon
        rows = np.arange(count)[:, None] + np.arange(horizon)[None, :]
        drawn = _run.ahead(self.model, means[:count], chols[:count], u[rows], propagation, num_samples, run_key)
        return self._in_user_units(*drawn, horizon, noise_key)

    def report(self, held_out: Episodes, path: str | Path, *, key: PRNGKeyArray, **options: Any) -> "Report":
        """Judge the system on records it has not seen and write the page; options are those of `gpssm.report.build`."""
        # A shortcut to a layer above, so that whoever only predicts imports no figures.
        from gpssm.report import build, write

        judged = build(self, held_out, key=key, **options)
        write(judged, path)
        return judged

    def _rollout(
        self,
        start: Start,
        controls: Float[Array, "S P"],
        first: int,
        drop_start: bool,
        num_samples: int,
        propagation: AbstractPropagation | None,
        key: PRNGKeyArray,
    ) -> Rollout:
        propagation = propagation or Pathwise()
        count = _num_samples(num_samples, propagation)
        mean, chol = start
        chol = jnp.zeros_like(chol) if isinstance(propagation, MeanOnly) else chol
        run_key, noise_key = jr.split(key)
        states, outputs = _run.trajectories(self.model, mean, chol, controls, propagation, count, run_key)
        cut = 1 if drop_start else 0
        return self._in_user_units(states[:, cut:], outputs[:, cut:], first, noise_key)

    def _in_user_units(self, states: Array, outputs: Array, first: int, key: PRNGKeyArray) -> Rollout:
        noise = np.sqrt(np.asarray(self.model.emission.noise_variance()))
        measured = np.asarray(outputs) + noise * np.asarray(jr.normal(key, outputs.shape, outputs.dtype))
        return Rollout(
            start=first,
            signals=self.scaler.undo_samples(np.asarray(outputs)),
            samples=self.scaler.undo_samples(measured),
            states=np.asarray(states),
            noise_std=self.scaler.undo_std(noise),
            output_names=self.output_names,
            dt=self.dt,
        )

    def _start(self, context: Episode, start: AbstractStart, key: PRNGKeyArray) -> Start:
        match start:
            case Recognised():
                means, chols = self._recognised(context)
            case Filtered():
                means, chols, _ = _run.filtered(start.estimator, self.model, *self._arrays(context), key)
            case _:
                raise TypeError(f"{type(start).__name__} is not a known way to start")
        return means[-1], chols[-1]

    def _states(self, means: Array, chols: Array, evidence: float | None) -> States:
        outputs, spread = _run.output_moments(self.model, means, chols)
        return States(
            means=np.asarray(means),
            chols=np.asarray(chols),
            outputs=self.scaler.undo_mean(np.asarray(outputs)),
            output_std=self.scaler.undo_std(np.asarray(spread)),
            log_evidence=evidence,
        )

    def _recognised(self, episode: Episode) -> tuple[Float[Array, "T D"], Float[Array, "T D D"]]:
        if self.recognition is None:
            raise ValueError("this model has no recognition network: use a filter or smoother instead")
        # Not through Episodes, which want every output measured somewhere: to read states off a record that is not
        # needed.
        padded = pad([self._scaled(episode)], length=None, dtype=self._dtype)
        one = jax.tree.map(lambda leaf: leaf[0], padded)
        return _run.marginals(_run.recognise(self.recognition, one))

    def _scaled(self, episode: Episode) -> Episode:
        self._check_channels(episode)
        return self.scaler.apply(episode)

    def _check_channels(self, episode: Episode) -> None:
        found, wanted = (episode.num_outputs, episode.num_inputs), (len(self.output_names), len(self.input_names))
        if found != wanted:
            raise DataError(
                f"'{episode.name}' has {found[0]} outputs and {found[1]} inputs, but the model was fitted to "
                f"{wanted[0]} ({', '.join(self.output_names)}) and {wanted[1]} ({', '.join(self.input_names)})"
            )

    @property
    def _dtype(self) -> np.dtype:
        return self.model.emission.noise_variance().dtype

    def _arrays(self, episode: Episode) -> tuple[Array, Array, Array]:
        scaled = self._scaled(episode)
        return jnp.asarray(scaled.y, self._dtype), jnp.asarray(scaled.u, self._dtype), jnp.asarray(scaled.observed)

    def _controls(self, inputs: np.ndarray) -> Float[Array, "S P"]:
        return jnp.asarray(self.scaler.apply_inputs(inputs), self._dtype)

    def _future_inputs(self, inputs: Numbers | None, steps: int | None) -> np.ndarray:
        count = len(self.input_names)
        if inputs is None:
            if count or steps is None:
                raise DataError(
                    f"give the future inputs ({', '.join(self.input_names)})" if count else "give steps=..."
                )
            if steps < 1:
                raise DataError(f"steps={steps}: need at least one step to predict")
            return np.zeros((steps, 0))
        future = np.asarray(inputs, dtype=float)
        future = future[:, None] if future.ndim == 1 else future
        if future.ndim != 2 or future.shape[1] != count:
            raise DataError(f"future inputs have shape {future.shape}; expected (steps, {count})")
        if not len(future):
            raise DataError("future inputs have no rows: need at least one step to predict")
        if not np.isfinite(future).all():
            row, column = np.argwhere(~np.isfinite(future))[0]
            raise DataError(f"future input '{self.input_names[column]}' is not a finite number at row {row}")
        if steps is not None and steps != len(future):
            raise DataError(f"steps={steps}, but there are {len(future)} rows of future inputs")
        return future


def _num_samples(asked: int, propagation: AbstractPropagation) -> int:
    """How many trajectories to run: of a deterministic one, a single copy."""
    if asked < 1:
        raise DataError(f"num_samples={asked}: a prediction needs at least one sample")
    return 1 if isinstance(propagation, MeanOnly) else asked
