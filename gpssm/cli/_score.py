"""Scores of a model on records it has not learnt from."""

from dataclasses import asdict, dataclass

import jax.random as jr
import numpy as np

from gpssm import metrics
from gpssm.cli._holdout import warm_up
from gpssm.data import DataError, Episodes
from gpssm.predict import Rollout, System


@dataclass(frozen=True)
class Scores:
    """How good the predictions are; all in the units of the outputs or without unit."""

    rmse: float
    fit_percent: float
    log_density: float
    """Mean log predictive density per measured value."""
    coverage95: float
    """Share of measured values inside the 95 % band."""

    def facts(self) -> dict[str, float]:
        """For machines."""
        return asdict(self)


def free_run_scores(system: System, episodes: Episodes, *, seed: int, n_init: int | None = None) -> Scores:
    """Scores of free runs over records, from their first samples on."""
    keys = jr.split(jr.key(seed), len(episodes))
    rollouts = [
        system.simulate(episode, n_init=n_init or warm_up(episode), key=key)
        for episode, key in zip(episodes, keys, strict=True)
    ]
    return scores_of(rollouts, episodes)


def horizon_scores(system: System, episodes: Episodes, horizon: int, *, seed: int) -> Scores:
    """Scores of predictions a fixed number of steps ahead."""
    keys = jr.split(jr.key(seed), len(episodes))
    rollouts = [system.predict(episode, horizon=horizon, key=key) for episode, key in zip(episodes, keys, strict=True)]
    return scores_of(rollouts, episodes)


def scores_of(rollouts: list[Rollout], episodes: Episodes) -> Scores:
    """Scores pooled over records."""
    parts = [
        (episode.y[r.start :], episode.observed[r.start :], r) for episode, r in zip(episodes, rollouts, strict=True)
    ]
    y = np.concatenate([part[0] for part in parts])
    seen = np.concatenate([part[1] for part in parts])
    if not seen.any():
        raise DataError(f"{episodes[0].name}: no output is measured where predictions begin; use records with outputs")
    mean = np.concatenate([r.mean for r in rollouts])
    low, high = (np.concatenate(side) for side in zip(*(r.interval(0.95) for r in rollouts), strict=True))
    signals = np.concatenate([r.signals for r in rollouts], axis=1)
    noise = rollouts[0].noise_std
    varies = all(np.ptp(y[seen[:, i], i]) > 0.0 for i in range(y.shape[1]) if seen[:, i].any())
    return Scores(
        rmse=metrics.rmse(y, mean, where=seen),
        fit_percent=metrics.fit_percent(y, mean, where=seen) if varies else float("nan"),
        log_density=metrics.log_density_samples(y, signals, noise, where=seen),
        coverage95=metrics.interval_coverage(y, low, high, where=seen),
    )
