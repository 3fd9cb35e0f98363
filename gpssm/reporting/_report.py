"""The evidence on one model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._history import History
from gpssm.data import Episodes
from gpssm.plots import TransitionSlice, transition_slices
from gpssm.predict import Rollout, States, System
from gpssm.reporting import _accuracy, _explained, _settings
from gpssm.reporting._data_summary import DataSummary, summarise
from gpssm.reporting._finding import Grade
from gpssm.reporting._residuals import ResidualTests, residual_tests
from gpssm.reporting._runs import SAMPLES, Runs, checked, default_n_init, judged_part, run
from gpssm.reporting._score import Score, score
from gpssm.reporting._trust_bands import bands
from gpssm.reporting._verdict import Verdict, conclude

SHOWN = 4
"""Records that are drawn; with more, the worst, the median and the best."""


@final
@dataclass(frozen=True, eq=False)
class Report:
    """Everything that the page shows, as numbers and sentences."""

    title: str
    output_names: tuple[str, ...]
    input_names: tuple[str, ...]
    dt: float | None
    n_init: int
    episodes: Episodes
    """The held-out records that were judged."""
    left_out: int
    """Held-out steps that were not judged because there are too many."""
    training: Episodes | None
    data: DataSummary
    training_data: DataSummary | None
    simulations: tuple[Rollout, ...]
    predictions: dict[int, tuple[Rollout, ...]]
    scores: tuple[Score, ...]
    """By number of steps ahead; the free run comes last."""
    training_score: Score | None
    """Free run on the training data."""
    residuals: ResidualTests
    shown: tuple[int, ...]
    """Which records are drawn, the worst first."""
    record_errors: tuple[float, ...]
    """Free-run error of each record in units of the standard deviation of all held-out measurements."""
    states: States
    """Smoothed states of the first shown record."""
    slices: tuple[TransitionSlice, ...]
    history: History | None
    settings: dict[str, str]
    versions: dict[str, str]
    verdict: Verdict

    @property
    def free_run(self) -> Score:
        """The score of the free run."""
        return self.scores[-1]


def build(
    identified: System,
    episodes_held_out: Episodes,
    *,
    training: Episodes | None = None,
    n_init: int | None = None,
    horizons: Sequence[int] = (1, 5, 20),
    title: str | None = None,
    settings: Mapping[str, str] | None = None,
    key: PRNGKeyArray,
) -> Report:
    """Judge a model on records that it was not trained on.

    A free run sees `n_init` outputs of each record (by default a fifth of the shortest, at most 20) and all inputs.
    With the `training` records the page also shows what was trained on and whether the model does worse on new data.
    `settings` are further rows for the table of settings, such as the seed of the fit.
    """
    episodes = judged_part(episodes_held_out)
    n_init = default_n_init(episodes) if n_init is None else n_init
    kept = checked(n_init, tuple(horizons), episodes)
    held_key, training_key, pit_key = jr.split(key, 3)
    rng = np.random.default_rng(np.asarray(jr.bits(pit_key, (4,), "uint32")))
    runs = run(identified, episodes, n_init=n_init, horizons=kept, key=held_key)
    scores = (
        *(score(runs.predictions[h], episodes, horizon=h, rng=rng) for h in kept),
        score(runs.simulations, episodes, horizon=None, rng=rng),
    )
    own = None
    if training is not None:
        own = _score_training(identified, training, n_init, episodes.num_steps, training_key, rng)
    tests = residual_tests(runs.predictions[1], episodes)
    errors = _record_errors(runs, scores[-1])
    shown = _shown(errors)
    data = summarise(episodes, training)
    training_data = None if training is None else summarise(training)
    return Report(
        title=title or f"{', '.join(identified.output_names)}: a model with {identified.model.state_dim} states",
        output_names=identified.output_names,
        input_names=identified.input_names,
        dt=identified.dt,
        n_init=n_init,
        episodes=episodes,
        left_out=episodes_held_out.num_steps - episodes.num_steps,
        training=training,
        data=data,
        training_data=training_data,
        simulations=runs.simulations,
        predictions=runs.predictions,
        scores=scores,
        training_score=own,
        residuals=tests,
        shown=shown,
        record_errors=errors,
        states=identified.smooth(episodes[shown[0]]),
        slices=transition_slices(identified, judged_part(training) if training is not None else episodes),
        history=identified.history,
        settings=_settings.merged(
            _settings.describe_model(identified),
            _settings.describe_training(identified),
            _settings.describe_run(key=key, n_init=n_init, horizons=kept, samples=SAMPLES),
            settings,
        ),
        versions=_settings.versions(),
        verdict=_judge(identified, runs, scores, own, tests, data, training_data),
    )


def _judge(
    identified: System,
    runs: Runs,
    scores: tuple[Score, ...],
    own: Score | None,
    tests: ResidualTests,
    data: DataSummary,
    training_data: DataSummary | None,
) -> Verdict:
    model, free = identified.model, scores[-1]
    process = np.sqrt(np.asarray(model.transition.noise_variance()))
    measurement = np.sqrt(np.asarray(model.emission.noise_variance()))
    noise = identified.scaler.undo_std(measurement)
    believed = bands(scores)
    explained = _explained.residuals(tests, identified.output_names, identified.input_names, model.state_dim)
    nothing_left = believed.grade is Grade.good and explained.grade is Grade.good
    return conclude(
        simulation=_accuracy.free_simulation(
            free, noise, identified.output_names, states=model.state_dim, nothing_left=nothing_left
        ),
        prediction=_accuracy.prediction(scores, noise),
        bands=believed,
        useful=_accuracy.useful_horizon(runs.simulations, free.reference_rmse, identified.dt),
        explained=explained,
        carries_over=_explained.generalisation(free, own, data),
        trained=_explained.training_went_well(identified.history),
        noise=_explained.noise_levels(process, measurement, identified.output_names),
        data=training_data or data,
        judged_by=data,
    )


def _score_training(
    identified: System, training: Episodes, n_init: int, steps: int, key: PRNGKeyArray, rng: np.random.Generator
) -> Score | None:
    """The free run on about as much training data as was held out."""
    part = [episode for episode in judged_part(training) if len(episode) > n_init + 3]
    if not part:
        return None
    lengths = np.cumsum([len(episode) for episode in part])
    chosen = Episodes(part[: int(np.searchsorted(lengths, steps)) + 1])
    runs = run(identified, chosen, n_init=n_init, horizons=(), key=key)
    return score(runs.simulations, chosen, horizon=None, rng=rng)


def _record_errors(runs: Runs, free: Score) -> tuple[float, ...]:
    errors = []
    for rollout, episode in zip(runs.simulations, runs.episodes, strict=True):
        seen = episode.observed[rollout.start :]
        ratio = (rollout.mean - episode.y[rollout.start :]) / free.reference_rmse
        values = ratio[seen & np.isfinite(ratio)]
        errors.append(float(np.sqrt(np.mean(values**2))) if len(values) else float("nan"))
    return tuple(errors)


def _shown(errors: tuple[float, ...]) -> tuple[int, ...]:
    # A record that cannot be scored comes last.
    worst_first = [int(i) for i in np.argsort(-np.nan_to_num(np.asarray(errors), nan=-1.0), kind="stable")]
    if len(worst_first) <= SHOWN:
        return tuple(worst_first)
    return worst_first[0], worst_first[len(worst_first) // 2], worst_first[-1]
