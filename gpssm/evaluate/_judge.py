"""A model run on records that it has not seen, once, and scored."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._random import AnyKey, as_key
from gpssm.data import DataError, Episode, Episodes
from gpssm.data._episodes import part_of
from gpssm.data._holdout import context_length
from gpssm.evaluate._score import Score, score
from gpssm.predict import AbstractPredictor, Rollout

SAMPLES = 200
"""Trajectories of a free run, and of predictions where they are short."""
FEWEST = 40
"""Enough for a 95 % interval between samples."""
BUDGET = 500_000
"""Steps of all trajectories of one prediction; longer horizons get fewer trajectories."""
LONGEST = 5_000
"""Steps of one record that are judged; what follows is left out, and the report says so."""
MOST = 20_000
"""Steps of all records together that are judged."""


@final
@dataclass(frozen=True, eq=False)
class Judged:
    """What a model predicts for some records, and how good that is."""

    episodes: Episodes
    n_init: int
    simulations: tuple[Rollout, ...]
    """Free runs, one for each record."""
    predictions: dict[int, tuple[Rollout, ...]]
    """By number of steps ahead."""
    scores: tuple[Score, ...]
    """By number of steps ahead; the free run comes last."""

    @property
    def free_run(self) -> Score:
        """The score of the free run."""
        return self.scores[-1]

    @property
    def horizons(self) -> tuple[int, ...]:
        """The numbers of steps ahead."""
        return tuple(self.predictions)


def judge(
    system: AbstractPredictor,
    episodes: Episodes,
    *,
    n_init: int | None = None,
    horizons: Sequence[int] = (),
    key: AnyKey = None,
    seed: int | None = None,
) -> Judged:
    """Run a model over held-out records, freely and by `horizons`, and score it.

    A free run sees `n_init` outputs of each record (by default a fifth of the shortest, at most 20) and all inputs.
    Everybody who prints a score of a free run gets it from here: the same records and key give the same numbers.
    """
    key = as_key(key, seed)
    episodes = judged_part(episodes)
    n_init = default_n_init(system, episodes) if n_init is None else n_init
    kept = checked(n_init, tuple(horizons), episodes)
    simulations, predictions = run(system, episodes, n_init=n_init, horizons=kept, key=key)
    rng = np.random.default_rng(np.asarray(jr.bits(jr.fold_in(key, 1), (4,), "uint32")))
    # The free run comes first, so that its numbers do not depend on the horizons.
    free = score(simulations, episodes, horizon=None, rng=rng)
    ahead = tuple(score(predictions[h], episodes, horizon=h, rng=rng) for h in kept)
    return Judged(episodes, n_init, simulations, predictions, (*ahead, free))


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


def run(
    system: AbstractPredictor, episodes: Episodes, *, n_init: int, horizons: tuple[int, ...], key: PRNGKeyArray
) -> tuple[tuple[Rollout, ...], dict[int, tuple[Rollout, ...]]]:
    """Free runs and predictions of every record; all are scored from step `n_init` on, so that they can be compared."""
    # Records of one length compile once. What is appended is missing and comes last, so no earlier step sees it.
    length = max(len(episode) for episode in episodes)
    simulations, predictions = [], {horizon: [] for horizon in horizons}
    for i, episode in enumerate(episodes):
        padded = _padded(episode, length)
        free_key, ahead_key = jr.split(jr.fold_in(key, i))
        free = system.simulate(padded, n_init=n_init, num_samples=SAMPLES, key=free_key)
        simulations.append(_cut(free, n_init, len(episode)))
        for horizon in horizons:
            count = int(np.clip(BUDGET // (length * horizon), FEWEST, SAMPLES))
            ahead = system.predict(padded, horizon=horizon, num_samples=count, key=jr.fold_in(ahead_key, horizon))
            predictions[horizon].append(_cut(ahead, max(n_init, ahead.start), len(episode)))
    return tuple(simulations), {h: tuple(rollouts) for h, rollouts in predictions.items()}


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
