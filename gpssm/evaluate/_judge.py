"""A model run on records that it has not seen, once, and scored."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._activity import doing
from gpssm._core._garbage import set_aside
from gpssm._core._random import AnyKey, as_key, fold_in, split
from gpssm.data import DataError, Episode, Episodes
from gpssm.data._episodes import part_of
from gpssm.data._holdout import context_length
from gpssm.data._recipe import common_recipe
from gpssm.evaluate._score import Score, score
from gpssm.fitting import Fit
from gpssm.predict import AbstractPredictor, Rollout
from gpssm.readers import read

SAMPLES = 200
"""Trajectories of a free run."""
SAMPLES_AHEAD = 100
"""Trajectories of predictions by horizon at most: each of them starts at every step of a record."""
FEWEST = 40
"""Enough for a 95 % interval between samples."""
BUDGET = 750_000
"""Steps of all trajectories of predictions by horizon; with longer horizons there are fewer trajectories."""
LONGEST = 5_000
"""Steps of one record that are judged; what follows is left out, and the report says so."""
AHEAD = 1
"""The stream of random numbers of predictions by horizon."""
MOST = 20_000
"""Steps of all records together that are judged."""


@final
@dataclass(frozen=True, eq=False)
class Judged:
    """What a model predicts for some records, and how good that is."""

    episodes: Episodes
    n_init: int
    key: PRNGKeyArray
    """With this key, and these records, the numbers come out again."""
    simulations: tuple[Rollout, ...]
    """Free runs, one for each record."""
    predictions: dict[int, tuple[Rollout, ...]]
    """By number of steps ahead."""
    scores: tuple[Score, ...]
    """By number of steps ahead; the free run comes last."""
    num_samples: int = SAMPLES
    """Trajectories of a free run."""

    @property
    def free_run(self) -> Score:
        """The score of the free run."""
        return self.scores[-1]

    @property
    def horizons(self) -> tuple[int, ...]:
        """The numbers of steps ahead."""
        return tuple(self.predictions)


@set_aside()
def judge(
    model: Fit | AbstractPredictor,
    episodes: Any,
    *,
    n_init: int | None = None,
    horizons: Sequence[int] = (),
    num_samples: int = SAMPLES,
    key: AnyKey = None,
    seed: int | None = None,
) -> Judged:
    """Run a model over held-out records, freely and by `horizons`, and score it.

    `episodes` may also be raw files, or whatever else `gpssm.read` takes: they are read as the training records were.

    A free run sees `n_init` outputs of each record (by default a fifth of the shortest, at most 20) and all inputs.
    Everybody who prints a score of a free run gets it from here: the same records and key give the same numbers,
    whatever the horizons are. `num_samples` trajectories are run; by horizons at most 100 of them, and fewer, for all
    horizons, where the longest is long. Those that the shortest record has no room for are left out.
    """
    system, key = predictor_of(model), as_key(key, seed)
    episodes = judged_part(records_for([("the model", system)], episodes))
    n_init = default_n_init(system, episodes) if n_init is None else n_init
    checked(n_init, tuple(horizons), episodes)
    with doing("scoring: free runs"):
        free = _free_runs(system, episodes, n_init, num_samples, key)
    scored = score(free, episodes, horizon=None, rng=_rng(key, 0))
    judged = Judged(episodes, n_init, key, free, {}, (scored,), num_samples)
    return judged_ahead(system, judged, horizons)


def judged_ahead(model: Fit | AbstractPredictor, judged: Judged, horizons: Sequence[int]) -> Judged:
    """The same, and what the model predicts over horizons that were not asked for before."""
    episodes, n_init, key = judged.episodes, judged.n_init, judged.key
    new = [h for h in checked(n_init, tuple(horizons), episodes) if h not in judged.predictions]
    if not new:
        return judged
    made = _ahead(predictor_of(model), episodes, n_init, new, judged.num_samples, key)
    predictions = dict(sorted({**judged.predictions, **made}.items()))
    scores = {s.horizon: s for s in judged.scores[:-1]}
    scores |= {h: score(made[h], episodes, horizon=h, rng=_rng(key, h)) for h in new}
    return replace(judged, predictions=predictions, scores=(*(scores[h] for h in predictions), judged.free_run))


def records_for(models: Sequence[tuple[str, Fit | AbstractPredictor]], data: Any) -> Episodes:
    """Episodes as they are; raw files and the like as the training records of the models were read."""
    if isinstance(data, Episodes):
        return data
    if isinstance(data, Episode):
        return Episodes([data])
    systems = [(name, predictor_of(model)) for name, model in models]
    common = common_recipe([(name, system.recipe) for name, system in systems])
    return systems[0][1].read(data) if common is None else read(data, recipe=common[1])


def predictor_of(model: Fit | AbstractPredictor) -> AbstractPredictor:
    """What predicts: users hand over fits and models alike."""
    return model.system if isinstance(model, Fit) else model


def judged_part(episodes: Episodes) -> Episodes:
    """As many records, and as much of each, as can be judged in reasonable time."""
    if not len(episodes):
        raise DataError("no records to judge the model on: give at least one that was held out")
    kept: list[Episode] = []
    for episode in episodes:
        if kept and sum(len(k) for k in kept) + min(len(episode), LONGEST) > MOST:
            break
        kept.append(episode if len(episode) <= LONGEST else episode.head(LONGEST))
    return part_of(kept)


def default_n_init(system: AbstractPredictor, episodes: Episodes) -> int:
    """The one rule for how much of a record is read, and what the model needs at least."""
    return max(context_length(len(episode) for episode in episodes), system.least_context)


def checked(n_init: int, horizons: tuple[int, ...], episodes: Episodes) -> tuple[int, ...]:
    """The horizons that the shortest record leaves room for; bad settings are refused."""
    shortest = min(episodes, key=len)
    if not 1 <= n_init < len(shortest):
        raise DataError(
            f"n_init={n_init}: need at least 1 and fewer than the {len(shortest)} samples of '{shortest.name}'"
        )
    if any(horizon < 1 for horizon in horizons):
        raise DataError(f"horizons={horizons}: each must be at least one step")
    kept = tuple(sorted({h for h in horizons if h + n_init < len(shortest)}))
    if len(shortest) - n_init < 3:
        raise DataError(f"'{shortest.name}' has {len(shortest)} samples: too few to judge a model after {n_init}")
    return kept


def _free_runs(
    system: AbstractPredictor, episodes: Episodes, n_init: int, num_samples: int, key: PRNGKeyArray
) -> tuple[Rollout, ...]:
    # Records of one length compile once. What is appended is missing and comes last, so no earlier step sees it.
    length, runs = max(len(episode) for episode in episodes), []
    for i, episode in enumerate(episodes):
        run_key = fold_in(_stream(key, 0), i)
        free = system.simulate(_padded(episode, length), n_init=n_init, num_samples=num_samples, key=run_key)
        runs.append(_cut(free, n_init, len(episode)))
    return tuple(runs)


def _ahead(
    system: AbstractPredictor, episodes: Episodes, n_init: int, horizons: Sequence[int], most: int, key: PRNGKeyArray
) -> dict[int, tuple[Rollout, ...]]:
    """From step `n_init` on, as the free runs, so that they can be compared; later where the horizon is longer.

    One run serves all horizons: a second program would take longer to compile than it saves steps.
    """
    length, runs = max(len(episode) for episode in episodes), []
    most = min(most, SAMPLES_AHEAD)
    count = int(np.clip(BUDGET // (length * max(horizons)), min(FEWEST, most), most))
    with doing(f"scoring: {', '.join(map(str, horizons))} step{'s' if max(horizons) > 1 else ''} ahead"):
        for i, episode in enumerate(episodes):
            run_key = fold_in(_stream(key, AHEAD), i)
            ahead = system.predict_each(_padded(episode, length), horizons=horizons, num_samples=count, key=run_key)
            runs.append([_cut(one, max(n_init, one.start), len(episode)) for one in ahead])
    return {h: tuple(run[j] for run in runs) for j, h in enumerate(horizons)}


def _stream(key: PRNGKeyArray, which: int) -> PRNGKeyArray:
    """Random numbers of their own for predictions by horizon, and for the free run (0)."""
    run_key, _ = split(fold_in(key, which))
    return run_key


def _rng(key: PRNGKeyArray, horizon: int) -> np.random.Generator:
    """For what is drawn when a horizon is scored."""
    _, score_key = split(fold_in(key, horizon))
    return np.random.default_rng(np.asarray(jr.key_data(score_key)))


def _padded(episode: Episode, length: int) -> Episode:
    missing = length - len(episode)
    if not missing:
        return episode
    return episode._replace(
        y=np.concatenate([episode.y, np.zeros((missing, episode.num_outputs))]),
        u=np.concatenate([episode.u, np.repeat(episode.u[-1:], missing, axis=0)]),
        observed=np.concatenate([episode.observed, np.zeros((missing, episode.num_outputs), bool)]),
    )


def _cut(rollout: Rollout, first: int, stop: int) -> Rollout:
    rows = slice(first - rollout.start, stop - rollout.start)
    return replace(
        rollout,
        start=first,
        signals=rollout.signals[:, rows],
        samples=rollout.samples[:, rows],
        states=rollout.states[:, rows],
    )
