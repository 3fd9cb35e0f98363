"""The evidence on one model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from gpssm._core._activity import doing
from gpssm._core._history import History
from gpssm._core._random import AnyKey
from gpssm.data import DataError, Episodes
from gpssm.evaluate import Judged, Score, judge
from gpssm.evaluate._judge import SAMPLES, judged_ahead, judged_part, predictor_of, records_for
from gpssm.fitting import Fit
from gpssm.plots import TransitionSlice, transition_slices
from gpssm.predict import AbstractPredictor, Rollout, States, System
from gpssm.reporting import _settings
from gpssm.reporting._data_summary import DataSummary, summarise
from gpssm.reporting._kind import kind_of
from gpssm.reporting._residuals import ResidualTests, residual_tests
from gpssm.reporting._rules import verdict_on
from gpssm.reporting._verdict import Verdict

HORIZONS = (1, 5, 20)
QUICK_SAMPLES = 40
"""Trajectories for a quick look: enough for a 95 % interval between samples."""
SHOWN = 4
"""Records that are drawn; with more, the worst, the median and the best."""


@final
@dataclass(frozen=True, eq=False)
class StateSpace:
    """What can be shown of a model with states, and of no other."""

    states: States
    """Smoothed states of the first shown record."""
    slices: tuple[TransitionSlice, ...]


@final
@dataclass(frozen=True, eq=False)
class Report:
    """Everything that the page shows, as numbers and sentences."""

    title: str
    output_names: tuple[str, ...]
    input_names: tuple[str, ...]
    dt: float | None
    judged: Judged
    """Free runs and predictions of the held-out records, and their scores."""
    left_out: int
    """Held-out steps that were not judged because there are too many."""
    training: Episodes | None
    data: DataSummary
    training_data: DataSummary | None
    training_score: Score | None
    """Free run on the training data."""
    residuals: ResidualTests
    shown: tuple[int, ...]
    """Which records are drawn, the worst first."""
    record_errors: tuple[float, ...]
    """Free-run error of each record in units of the standard deviation of all held-out measurements."""
    state_space: StateSpace | None
    """None for a model without states."""
    history: History | None
    settings: dict[str, str]
    versions: dict[str, str]
    verdict: Verdict

    @property
    def episodes(self) -> Episodes:
        """The held-out records that were judged."""
        return self.judged.episodes

    @property
    def n_init(self) -> int:
        """First outputs that a free run sees."""
        return self.judged.n_init

    @property
    def simulations(self) -> tuple[Rollout, ...]:
        """Free runs, one for each record."""
        return self.judged.simulations

    @property
    def predictions(self) -> dict[int, tuple[Rollout, ...]]:
        """By number of steps ahead."""
        return self.judged.predictions

    @property
    def scores(self) -> tuple[Score, ...]:
        """By number of steps ahead; the free run comes last."""
        return self.judged.scores

    @property
    def free_run(self) -> Score:
        """The score of the free run."""
        return self.judged.free_run


def build(
    model: Fit | AbstractPredictor,
    held_out: Any,
    *,
    training: Any = None,
    n_init: int | None = None,
    horizons: Sequence[int] = HORIZONS,
    title: str | None = None,
    settings: Mapping[str, str] | None = None,
    judged: Judged | None = None,
    quick: bool = False,
    key: AnyKey = None,
    seed: int | None = None,
) -> Report:
    """Judge a model on records that it was not trained on.

    A free run sees `n_init` outputs of each record (by default a fifth of the shortest, at most 20) and all inputs.
    With the `training` records the page also shows what was trained on and whether the model does worse on new data.
    `settings` are further rows for the table of settings, such as the seed of the fit. `judged` is what
    `gpssm.judge` made of the same model and records: then its runs, first outputs and key are used, and the page shows
    the numbers that were printed. Records may also be raw files, or whatever else `gpssm.read` takes: they are read as
    those were that the model was trained on. With `quick` there are free runs and predictions of one step only, with
    few trajectories, and nothing of the states.
    """
    system = predictor_of(model)
    held_out = records_for([("the model", system)], held_out)
    training = None if training is None else records_for([("the model", system)], training)
    steps = (1,) if quick else (1, *horizons)  # one step ahead is needed for the tests of the residuals
    if judged is None:
        count = QUICK_SAMPLES if quick else SAMPLES
        judged = judge(system, held_out, n_init=n_init, horizons=steps, num_samples=count, key=key, seed=seed)
    else:
        _check_judged(judged, held_out, n_init=n_init, key=key, seed=seed)
        judged = judged_ahead(system, judged, steps)
    check_measured(judged)
    with doing("scoring: training records"):
        own = None if training is None else _score_training(system, training, judged)
    tests = residual_tests(judged.predictions[1], judged.episodes)
    errors = _record_errors(judged)
    shown = _shown(errors)
    data = summarise(judged.episodes, training)
    training_data = None if training is None else summarise(training)
    return Report(
        title=title or f"{', '.join(system.output_names)}: {kind_of(system).name}",
        output_names=system.output_names,
        input_names=system.input_names,
        dt=system.dt,
        judged=judged,
        left_out=held_out.num_steps - judged.episodes.num_steps,
        training=training,
        data=data,
        training_data=training_data,
        training_score=own,
        residuals=tests,
        shown=shown,
        record_errors=errors,
        state_space=None if quick else _state_space(system, judged, shown[0], training),
        history=system.history,
        settings=_settings.merged(
            system.describe(), _settings.describe_training(model), _settings.describe_run(judged), settings
        ),
        versions=_settings.versions(),
        verdict=verdict_on(model, judged, own, tests, data, training_data),
    )


def check_measured(judged: Judged) -> None:
    """Complain about records that nothing can be judged by."""
    if not any(episode.observed[judged.n_init :].any() for episode in judged.episodes):
        raise DataError(
            f"no output is measured after the first {judged.n_init} samples of any record: there is nothing to judge by"
        )


def _check_judged(judged: Judged, held_out: Episodes, *, n_init: int | None, key: AnyKey, seed: int | None) -> None:
    if n_init not in (None, judged.n_init):
        raise ValueError(f"n_init={n_init}, but what was judged began after {judged.n_init} samples: leave n_init out")
    if key is not None or seed is not None:
        raise ValueError("what was judged has a key of its own: leave key= and seed= out")
    part = judged_part(held_out)
    same = len(part) == len(judged.episodes) and all(
        np.array_equal(a.y_with_nan, b.y_with_nan, equal_nan=True) and np.array_equal(a.u, b.u)
        for a, b in zip(part, judged.episodes, strict=True)
    )
    if not same:
        raise ValueError("what was judged are other records than those held out: judge the model on these")


def _state_space(system: AbstractPredictor, judged: Judged, index: int, training: Episodes | None) -> StateSpace | None:
    if not isinstance(system, System):
        return None
    visited = judged.episodes if training is None else judged_part(training)
    with doing("smoothing states"):
        return StateSpace(system.smooth(judged.episodes[index]), transition_slices(system, visited))


def _score_training(system: AbstractPredictor, training: Episodes, judged: Judged) -> Score | None:
    """The free run on about as much training data as was held out, in runs that are no longer: errors grow with time,
    and records of the same length share their programs."""
    longest = max(len(episode) for episode in judged.episodes)
    part = [
        episode.head(min(longest, len(episode)))
        for episode in judged_part(training)
        if len(episode) > judged.n_init + 3
    ]
    if not part:
        return None
    lengths = np.cumsum([len(episode) for episode in part])
    chosen = Episodes(part[: int(np.searchsorted(lengths, judged.episodes.num_steps)) + 1])
    return judge(system, chosen, n_init=judged.n_init, num_samples=judged.num_samples, key=judged.key).free_run


def _record_errors(judged: Judged) -> tuple[float, ...]:
    errors = []
    for rollout, episode in zip(judged.simulations, judged.episodes, strict=True):
        seen = episode.observed[rollout.start :]
        with np.errstate(all="ignore"):  # what is not finite is left out
            ratio = (rollout.median - episode.y[rollout.start :]) / judged.free_run.spread
        values = ratio[seen & np.isfinite(ratio)]
        errors.append(float(np.sqrt(np.mean(values**2))) if len(values) else float("nan"))
    return tuple(errors)


def _shown(errors: tuple[float, ...]) -> tuple[int, ...]:
    # A record that cannot be scored comes last.
    worst_first = [int(i) for i in np.argsort(-np.nan_to_num(np.asarray(errors), nan=-1.0), kind="stable")]
    if len(worst_first) <= SHOWN:
        return tuple(worst_first)
    return worst_first[0], worst_first[len(worst_first) // 2], worst_first[-1]
