"""The model run on records that it has not seen."""

from dataclasses import dataclass, replace
from typing import final

import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm.data import DataError, Episode, Episodes
from gpssm.data._episodes import part_of
from gpssm.predict import Identified, Rollout

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
class Runs:
    """What a model predicts for some records."""

    episodes: Episodes
    n_init: int
    simulations: tuple[Rollout, ...]
    """Free runs, one for each record."""
    predictions: dict[int, tuple[Rollout, ...]]
    """By number of steps ahead."""


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


def default_n_init(episodes: Episodes) -> int:
    """A fifth of the shortest record, at most 20 steps: enough for a filter to settle, not enough to give all away."""
    return max(1, min(20, min(len(episode) for episode in episodes) // 5))


def checked(n_init: int, horizons: tuple[int, ...], episodes: Episodes) -> tuple[int, ...]:
    """The horizons that the shortest record leaves room for; bad settings are refused."""
    shortest = min(episodes, key=len)
    if not 1 <= n_init < len(shortest):
        raise DataError(
            f"n_init={n_init}: need at least 1 and fewer than the {len(shortest)} samples of '{shortest.name}'"
        )
    if any(horizon < 1 for horizon in horizons):
        raise DataError(f"horizons={horizons}: each must be at least one step")
    kept = tuple(sorted({h for h in horizons if h + n_init < len(shortest)} | {1}))
    if len(shortest) - n_init < 3:
        raise DataError(f"'{shortest.name}' has {len(shortest)} samples: too few to judge a model after {n_init}")
    return kept


def run(system: Identified, episodes: Episodes, *, n_init: int, horizons: tuple[int, ...], key: PRNGKeyArray) -> Runs:
    """Free runs and predictions of every record; all are scored from step `n_init` on, so that they can be compared."""
    # Records of one length compile once. What is appended is missing and comes last, so no earlier step sees it.
    length = max(len(episode) for episode in episodes)
    simulations, predictions = [], {horizon: [] for horizon in horizons}
    for i, episode in enumerate(episodes):
        padded = _padded(episode, length)
        free_key, *ahead_keys = jr.split(jr.fold_in(key, i), 1 + len(horizons))
        free = system.simulate(padded, n_init=n_init, num_samples=SAMPLES, key=free_key)
        simulations.append(_cut(free, n_init, len(episode)))
        for horizon, ahead_key in zip(horizons, ahead_keys, strict=True):
            count = int(np.clip(BUDGET // (length * horizon), FEWEST, SAMPLES))
            ahead = system.predict(padded, horizon=horizon, num_samples=count, key=ahead_key)
            predictions[horizon].append(_cut(ahead, max(n_init, horizon), len(episode)))
    return Runs(episodes, n_init, tuple(simulations), {h: tuple(rollouts) for h, rollouts in predictions.items()})


def _padded(episode: Episode, length: int) -> Episode:
    missing = length - len(episode)
    if not missing:
        return episode
    return Episode(
        y=np.concatenate([episode.y, np.zeros((missing, episode.num_outputs))]),
        u=np.concatenate([episode.u, np.repeat(episode.u[-1:], missing, axis=0)]),
        mask=np.concatenate([episode.observed, np.zeros((missing, episode.num_outputs), bool)]),
        dt=episode.dt,
        name=episode.name,
        output_names=list(episode.output_names),
        input_names=list(episode.input_names),
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
