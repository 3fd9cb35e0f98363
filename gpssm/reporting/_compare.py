"""Several models on the same records."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import jax.random as jr
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from scipy.special import ndtr

from gpssm.data import DataError, Episodes
from gpssm.predict import Rollout, System
from gpssm.reporting import _settings
from gpssm.reporting._finding import Grade
from gpssm.reporting._residuals import ResidualTests, residual_tests
from gpssm.reporting._runs import SAMPLES, checked, default_n_init, judged_part, run
from gpssm.reporting._score import Score, score
from gpssm.reporting._trust_bands import bands
from gpssm.reporting._worth import independent_worth


@final
@dataclass(frozen=True, eq=False)
class Entry:
    """One model of a comparison."""

    name: str
    scores: tuple[Score, ...]
    """By number of steps ahead; the free run comes last."""
    log_density: float
    """Mean log predictive density of the free run per measured value."""
    crps: float
    """Mean continuous ranked probability score of the free run, outputs in units of their standard deviation."""
    residuals: ResidualTests
    simulations: tuple[Rollout, ...]
    p_value: float | None
    """That the free run of this model is as good as the best one's (two-sided); None for the best."""
    settings: dict[str, str]


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """Several models judged on the same records, the best free run first."""

    title: str
    entries: tuple[Entry, ...]
    episodes: Episodes
    n_init: int
    output_names: tuple[str, ...]
    input_names: tuple[str, ...]
    dt: float | None
    headline: str
    settings: dict[str, str]
    versions: dict[str, str]


def compare(
    models: Sequence[tuple[str, System]],
    episodes: Episodes,
    *,
    n_init: int | None = None,
    horizons: Sequence[int] = (1, 5, 20),
    title: str | None = None,
    key: PRNGKeyArray | None = None,
) -> Comparison:
    """Judge several models on the same held-out records, and say which is the best and whether that could be chance."""
    if not models:
        raise DataError("no models to compare: give a list of (name, identified) pairs")
    key = jr.key(0) if key is None else key
    episodes = judged_part(episodes)
    n_init = default_n_init(episodes) if n_init is None else n_init
    kept = checked(n_init, tuple(horizons), episodes)
    rng = np.random.default_rng(np.asarray(jr.bits(jr.fold_in(key, 1), (4,), "uint32")))
    # All models get the same random numbers: differences between them are theirs alone.
    runs = [run(system, episodes, n_init=n_init, horizons=kept, key=key) for _, system in models]
    scores = [
        (
            *(score(r.predictions[h], episodes, horizon=h, rng=rng) for h in kept),
            score(r.simulations, episodes, horizon=None, rng=rng),
        )
        for r in runs
    ]
    spread = scores[0][-1].reference_rmse
    losses = [_losses(r.simulations, episodes, spread) for r in runs]
    order = sorted(range(len(models)), key=lambda i: _average(losses[i]))
    best = order[0]
    entries = []
    for i in order:
        density, crps = _probabilistic(runs[i].simulations, episodes, spread)
        entries.append(
            Entry(
                name=models[i][0],
                scores=scores[i],
                log_density=density,
                crps=crps,
                residuals=residual_tests(runs[i].predictions[1], episodes),
                simulations=runs[i].simulations,
                p_value=None if i == best else difference_p_value(losses[i], losses[best]),
                settings=_settings.describe_model(models[i][1]),
            )
        )
    first = models[0][1]
    return Comparison(
        title=title or f"{', '.join(first.output_names)}: comparison of {len(models)} models",
        entries=tuple(entries),
        episodes=episodes,
        n_init=n_init,
        output_names=first.output_names,
        input_names=first.input_names,
        dt=first.dt,
        headline=_headline(entries),
        settings=_settings.describe_run(key=key, n_init=n_init, horizons=kept, samples=SAMPLES),
        versions=_settings.versions(),
    )


def difference_p_value(
    losses: Sequence[Float[np.ndarray, " _"]], others: Sequence[Float[np.ndarray, " _"]]
) -> float | None:
    """Two-sided p-value that two models have the same expected loss (the test of Diebold and Mariano).

    The differences of their losses follow each other in time, so their average is as uncertain as that of fewer
    independent ones; that number is estimated from their autocorrelation, record by record.
    """
    differences = [a - b for a, b in zip(losses, others, strict=True)]
    joined = np.concatenate(differences)
    joined = joined[np.isfinite(joined)]
    if len(joined) < 3 or not np.isfinite(_average(losses)) or np.ptp(joined) == 0.0:
        return None
    centre = float(joined.mean())
    effective = sum(independent_worth(d[np.isfinite(d)] - centre) for d in differences)
    statistic = centre / math.sqrt(float(joined.var()) / effective)
    return float(2.0 * ndtr(-abs(statistic)))


def _losses(simulations: Sequence[Rollout], episodes: Episodes, spread: np.ndarray) -> list[np.ndarray]:
    """Squared error at each step of each record, summed over outputs in units of their spread; NaN if none measured."""
    losses = []
    for rollout, episode in zip(simulations, episodes, strict=True):
        errors = ((rollout.mean - episode.y[rollout.start :]) / spread) ** 2
        seen = episode.observed[rollout.start :] & np.isfinite(spread)
        total = np.where(seen, errors, 0.0).sum(axis=1)
        losses.append(np.where(seen.any(axis=1), np.where(np.isfinite(total), total, np.inf), np.nan))
    return losses


def _average(losses: Sequence[np.ndarray]) -> float:
    joined = np.concatenate(losses)
    joined = joined[~np.isnan(joined)]
    return float(joined.mean()) if len(joined) else math.inf


def _headline(entries: Sequence[Entry]) -> str:
    best = entries[0]
    fit = float(np.nanmean(best.scores[-1].fit_percent)) if np.isfinite(best.scores[-1].nrmse).any() else math.nan
    text = f"The best free simulation is that of {best.name} (fit {fit:.1f} %)"
    rivals = [e.name for e in entries[1:] if e.p_value is None or e.p_value >= 0.01]
    if len(entries) == 1:
        text += "; there is no other to compare it with."
    elif rivals:
        text += f", but these data cannot tell it from {', '.join(rivals)} with 99 % confidence."
    else:
        text += "; the difference to each of the others is more than chance (99 %)."
    doubtful = [entry.name for entry in entries if bands(entry.scores).grade in (Grade.bad, Grade.caution)]
    return f"{text} Bands that do not hold what they promise: {', '.join(doubtful)}." if doubtful else text
