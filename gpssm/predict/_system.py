"""A learnt state-space system: the model with everything needed to use it in the user's units."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

import jax
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from gpssm._core._buckets import LEAST_STEPS, fill_up, next_power_of_two, round_count, round_size
from gpssm._core._history import History
from gpssm._core._precision import double_precision
from gpssm._core._random import AnyKey, as_key, split
from gpssm.data import DataError, Episode, Scaler
from gpssm.data._errors import Numbers
from gpssm.filters import UKF, AbstractFilter
from gpssm.inference import AbstractRecognition
from gpssm.models import GPSSM, AbstractJoint, Batch
from gpssm.predict import _run
from gpssm.predict._base import NOT_STORED, AbstractPredictor, Reader, Request
from gpssm.predict._channels import Channels
from gpssm.predict._online import OnlineFilter
from gpssm.predict._propagate import AbstractPropagation
from gpssm.predict._rollout import Rollout, States
from gpssm.predict._words import describe_state_space, width_in_words

Start = tuple[Float[np.ndarray | Array, "*K D"], Float[np.ndarray | Array, "*K D D"]]
"""Mean and factor of a state; or of several, one for each trajectory."""


@final
@dataclass(frozen=True)
class System(AbstractPredictor):
    """A state-space model, be its transition a GP or linear. Scale is entered and left here."""

    model: GPSSM
    scaler: Scaler
    channels: Channels
    recognition: AbstractRecognition | None = None
    """The network that was trained with it, which can be passed as `reader`. Where there is none, filters read."""
    history: History | None = field(default=None, metadata=NOT_STORED)
    joint: AbstractJoint | None = None
    """What is not known of the model, to be drawn together; without it each state's function is drawn by itself."""
    free_run_width: float = 1.0

    @property
    def least_context(self) -> int:
        return 1

    def describe(self) -> dict[str, str]:
        words = describe_state_space(self.model, self.scaler, self.channels, self.recognition)
        return words | width_in_words(self.free_run_width)

    @double_precision
    def smooth(self, episode: Episode, *, reader: AbstractRecognition | None = None) -> States:
        """The states of a record given all of it, by an extended Kalman smoother on the learnt model.

        With `reader=system.recognition` the recognition network reads them instead: quicker, and as good on records
        like those it was trained on.
        """
        self.channels.check(episode)
        if reader is not None:
            return self._states(*self._recognised(reader, episode), slice(len(episode)), None, episode)
        y, u, observed = self._arrays(episode)
        skipped = round_size(len(episode), least=LEAST_STEPS) - len(episode)
        # From behind, the rows that fill up stand before the record.
        y, u, observed = (np.roll(part, skipped, axis=0) for part in (y, u, observed))
        means, chols, evidence = _run.smoothed(self.model, y, u, observed, np.asarray(skipped))
        return self._states(means, chols, slice(skipped, None), float(evidence), episode)

    @double_precision
    def filter(
        self, episode: Episode, *, reader: AbstractFilter | None = None, key: AnyKey = None, seed: int | None = None
    ) -> States:
        """The state at each step given the outputs up to it. The key is needed by particle filters only."""
        self.channels.check(episode)
        means, chols, evidence = self._filtered(reader or UKF(), episode, as_key(key, seed))
        return self._states(means, chols, slice(len(episode)), float(evidence), episode)

    def online(
        self,
        *,
        reader: AbstractFilter | None = None,
        state: Numbers | None = None,
        chol: Numbers | None = None,
        gate: float | None = None,
        key: AnyKey = None,
        seed: int | None = None,
    ) -> OnlineFilter:
        """A filter that is fed one sample at a time, from a given state on, and with a gate against outliers if one
        is wanted (see `OnlineFilter`)."""
        chosen = reader or UKF()
        return OnlineFilter(self.model, self.scaler, chosen, state=state, chol=chol, gate=gate, key=as_key(key, seed))

    @double_precision
    def simulate_from(
        self,
        state: Numbers,
        *,
        chol: Numbers | None = None,
        inputs: Any = None,
        steps: int | None = None,
        num_samples: int = 200,
        propagation: AbstractPropagation | None = None,
        key: AnyKey = None,
        seed: int | None = None,
    ) -> Rollout:
        """Free run from a given latent state (uncertain if `chol` is given); the first output is that of the state
        itself."""
        future = self.channels.future_inputs(inputs, steps)
        size = self.model.state_dim
        mean = np.asarray(state, dtype=float)
        factor = np.zeros((size, size)) if chol is None else np.asarray(chol, dtype=float)
        if mean.shape != (size,):
            raise DataError(f"the state has shape {mean.shape}, but this model has {size} states")
        if factor.shape != (size, size):
            raise DataError(f"chol has shape {factor.shape}; for {size} states it must be {(size, size)}")
        if not (np.isfinite(mean).all() and np.isfinite(factor).all()):
            raise DataError("the state to start from, and its chol, must be finite numbers")
        start = self._on_device(mean), self._on_device(factor)
        request = self._request(num_samples, propagation, None, key, seed, future)
        run = self._rollout(start, future[:-1], 0, request, request.key, with_start=True)
        return self._finished(run, request)

    def _free_run(self, context: Episode, controls: Float[np.ndarray, "S P"], request: Request) -> Rollout:
        start_key, run_key = split(request.key)
        if self._draws_jointly(request):
            # The key with which the run draws its models.
            means, chols = self._drawn_starts(context, slice(len(context) - 1, len(context)), request, _models(run_key))
            start: Start = means[:, 0], chols[:, 0]
        else:
            start = self._start(context, request.reader or UKF(), start_key)
        return self._rollout(start, controls, len(context), request, run_key)

    def _ahead(self, episode: Episode, horizon: int, request: Request) -> Rollout:
        return self._ahead_each(episode, (horizon,), request)[0]

    def _ahead_each(self, episode: Episode, horizons: Sequence[int], request: Request) -> tuple[Rollout, ...]:
        """All horizons by one run, which goes as far as the furthest: a program for each would have to be compiled."""
        if isinstance(request.reader, AbstractRecognition):
            raise DataError("a network reads a record as a whole and would see what is to be predicted: use a filter")
        filter_key, run_key, noise_key = split(request.key, 3)
        starts, longest = len(episode) - min(horizons), round_size(max(horizons))
        rows = round_size(starts, least=LEAST_STEPS)
        count = round_count(request.count)
        if self._draws_jointly(request):
            means, chols = self._drawn_starts(episode, slice(starts), request, run_key)
            filled = (0, rows - starts)
            means = np.pad(means, ((0, 0), filled, (0, 0)))
            chols = np.pad(chols, ((0, 0), filled, (0, 0), (0, 0)))
        else:
            means, chols, _ = self._filtered(request.reader or UKF(), episode, filter_key)
            chols = request.propagation.start_spread(chols)
            means, chols = (_copies(fill_up(np.asarray(part)[:starts], rows), count) for part in (means, chols))
        # The last rows of the record are not needed, but the first of them are where rows are filled up.
        u = fill_up(self._scaled_controls(episode.u)[: rows + longest], rows + longest)
        joint = self.joint if request.propagation.holds_function() else None
        # As NumPy's: each part of an array of JAX would be a program of its own.
        states, outputs = map(
            np.asarray,
            _run.ahead(
                self.model, joint, means, chols, u, np.asarray(horizons), longest, request.propagation, count, run_key
            ),
        )
        return tuple(
            self._in_user_units(
                states[:, i], outputs[:, i], (request.count, len(episode) - horizon), horizon, noise_key
            )
            for i, horizon in enumerate(horizons)
        )

    def _draws_jointly(self, request: Request) -> bool:
        """Whether the start of each trajectory is read by the very model that runs on from it. A reader that was asked
        for knows one model only."""
        return self.joint is not None and request.reader is None and request.propagation.holds_function()

    def _drawn_starts(
        self, episode: Episode, rows: slice, request: Request, key: PRNGKeyArray
    ) -> tuple[Float[np.ndarray, "K _ D"], Float[np.ndarray, "K _ D D"]]:
        """States at some rows, as each of the models sees them that `key` draws."""
        assert self.joint is not None
        steps, count = np.asarray(len(episode)), round_count(request.count)
        means, chols = _run.drawn_beliefs(self.model, self.joint, *self._arrays(episode), steps, count, key)
        return np.asarray(means)[:, rows], np.asarray(chols)[:, rows]

    def _rollout(
        self,
        start: Start,
        controls: Float[np.ndarray, "S P"],
        first: int,
        request: Request,
        key: PRNGKeyArray,
        *,
        with_start: bool = False,
    ) -> Rollout:
        """From one start that all trajectories share, or from one for each."""
        count = round_count(request.count)
        mean, chol = start
        if mean.ndim == 1:
            chol = request.propagation.start_spread(self._on_device(chol))
            mean, chol = (_copies(np.asarray(part), count) for part in (mean, chol))
        run_key, noise_key = split(key)
        steps = round_size(len(controls), least=LEAST_STEPS)
        scaled = fill_up(self._scaled_controls(controls), steps)
        joint = self.joint if request.propagation.holds_function() else None
        states, outputs = _run.trajectories(
            self.model, joint, mean, chol, scaled, request.propagation, with_start, count, run_key
        )
        return self._in_user_units(states, outputs, (request.count, len(controls) + with_start), first, noise_key)

    def _in_user_units(
        self,
        states: Array | np.ndarray,
        outputs: Array | np.ndarray,
        shape: tuple[int, int],
        first: int,
        key: PRNGKeyArray,
    ) -> Rollout:
        """Of the trajectories and steps that were run those that were asked for."""
        count, steps = shape
        signals, states_ = (np.asarray(part)[:count, :steps] for part in (outputs, states))
        # Noise is drawn for the signals one after the other, so that it does not depend on what was filled up.
        listed = signals.reshape(count * steps, -1)
        filled = jax.device_put(fill_up(listed, next_power_of_two(len(listed))))
        measured, noise = _run.measured(self.model.emission, filled, key)
        return Rollout(
            start=first,
            signals=self.scaler.undo_samples(signals),
            samples=self.scaler.undo_samples(np.asarray(measured)[: len(listed)].reshape(signals.shape)),
            states=np.array(states_),
            noise_std=self.scaler.undo_std(np.asarray(noise)),
            output_names=self.output_names,
            dt=self.dt,
        )

    def _start(self, context: Episode, reader: Reader, key: PRNGKeyArray) -> Start:
        if isinstance(reader, AbstractRecognition):
            means, chols = self._recognised(reader, context)
        else:
            means, chols, _ = self._filtered(reader, context, key)
        return self._on_device(means, len(context) - 1), self._on_device(chols, len(context) - 1)

    def _states(self, means: Array, chols: Array, rows: slice, evidence: float | None, episode: Episode) -> States:
        """Those at the rows that belong to the record."""
        outputs, spread = _run.output_moments(self.model, means, chols)
        return States(
            means=np.array(np.asarray(means)[rows]),
            chols=np.array(np.asarray(chols)[rows]),
            outputs=self.scaler.undo_mean(np.asarray(outputs)[rows]) + self.scaler.direct_outputs(episode.u),
            output_std=self.scaler.undo_std(np.asarray(spread)[rows]),
            log_evidence=evidence,
        )

    def _filtered(
        self, filter_: AbstractFilter, episode: Episode, key: PRNGKeyArray
    ) -> tuple[Float[Array, "T D"], Float[Array, "T D D"], Float[Array, ""]]:
        """More rows than the record has: those after its end are to be left out."""
        return _run.filtered(filter_, self.model, *self._arrays(episode), np.asarray(len(episode)), key)

    def _recognised(
        self, network: AbstractRecognition, episode: Episode
    ) -> tuple[Float[Array, "T D"], Float[Array, "T D D"]]:
        """Of more rows, too."""
        length = round_size(len(episode), least=LEAST_STEPS)
        batch = Batch.of([self.scaler.apply(episode)], length=length, dtype=self._dtype)
        one = jax.tree.map(lambda leaf: jax.device_put(np.asarray(leaf)[0]), batch)
        return _run.marginals(_run.recognise(network, one))

    @property
    def _dtype(self) -> np.dtype:
        return np.dtype(jax.eval_shape(self.model.emission.noise_variance).dtype)

    def _arrays(self, episode: Episode) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outputs, controls and what was observed, in the precision of the model, filled up with unobserved rows."""
        scaled, rows = self.scaler.apply(episode), round_size(len(episode), least=LEAST_STEPS)
        y, u = (fill_up(part.astype(self._dtype), rows) for part in (scaled.y, scaled.u))
        return y, u, fill_up(scaled.observed, rows)

    def _scaled_controls(self, controls: Float[np.ndarray, "S P"]) -> Float[np.ndarray, "S P"]:
        return self.scaler.apply_inputs(controls).astype(self._dtype)

    def _on_device(self, values: ArrayLike, *at: int) -> Array:
        """Numbers, or those at an index, in the precision of the model. `jnp.asarray` and an index of an array would
        compile a program for each shape."""
        return jax.device_put(np.asarray(values)[at].astype(self._dtype))


def _copies(values: np.ndarray, count: int) -> np.ndarray:
    return np.broadcast_to(values, (count, *values.shape))


def _models(key: PRNGKeyArray) -> PRNGKeyArray:
    """Of the key of a free run the part that its trajectories, and the models they follow, are drawn with."""
    return split(key)[0]
