"""Several models on the same records."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from gpssm._core._garbage import set_aside
from gpssm._core._random import AnyKey, as_key
from gpssm.data import DataError, Episodes
from gpssm.evaluate import Judged, Score, judge
from gpssm.evaluate._judge import default_n_init, judged_part, predictor_of, records_for
from gpssm.fitting import Fit
from gpssm.metrics import effective_sample_size
from gpssm.predict import AbstractPredictor, Rollout
from gpssm.reporting import _settings
from gpssm.reporting._finding import Finding, Grade
from gpssm.reporting._kind import kind_as_learnt
from gpssm.reporting._report import HORIZONS, check_measured
from gpssm.reporting._residuals import ResidualTests, residual_tests
from gpssm.reporting._trust_bands import bands

LEVEL = 0.01
"""Below this probability a difference between two models is called more than chance."""


@final
@dataclass(frozen=True, eq=False)
class Entry:
    """One model of a comparison."""

    name: str
    judged: Judged
    """Its free runs and predictions, and their scores."""
    residuals: ResidualTests
    bands: Finding
    """Whether its bands can be believed."""
    p_value: float | None
    """That the free run of this model is as good as the best one's (two-sided); None for the best."""
    settings: dict[str, str]

    @property
    def scores(self) -> tuple[Score, ...]:
        """By number of steps ahead; the free run comes last."""
        return self.judged.scores

    @property
    def free_run(self) -> Score:
        """The score of the free run."""
        return self.judged.free_run


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """Several models judged on the same records, the best free run first."""

    title: str
    entries: tuple[Entry, ...]
    output_names: tuple[str, ...]
    input_names: tuple[str, ...]
    dt: float | None
    headline: str
    settings: dict[str, str]
    versions: dict[str, str]

    @property
    def episodes(self) -> Episodes:
        """The records that all were judged on."""
        return self.entries[0].judged.episodes

    @property
    def n_init(self) -> int:
        """First outputs that the free runs saw."""
        return self.entries[0].judged.n_init


@set_aside()
def compare(
    models: Sequence[tuple[str, Fit | AbstractPredictor]] | Mapping[str, Fit | AbstractPredictor],
    episodes: Any,
    *,
    n_init: int | None = None,
    horizons: Sequence[int] = HORIZONS,
    title: str | None = None,
    key: AnyKey = None,
    seed: int | None = None,
) -> Comparison:
    """Judge several models on the same held-out records, and say which is the best and whether that could be chance.

    All free runs see the same `n_init` outputs: by default as many as `gpssm.judge` shows to the model that needs most
    of them. The numbers of each model are those that `gpssm.judge` gives with the same key. `episodes` may also be raw
    files, or whatever else `gpssm.read` takes: they are read as the training records of the models were.
    """
    named = list(models.items()) if isinstance(models, Mapping) else list(models)
    if not named:
        raise DataError("no models to compare: give a list of pairs (name, model)")
    key = as_key(key, seed)
    episodes = records_for(named, episodes)
    if n_init is None:
        part = judged_part(episodes)
        n_init = max(default_n_init(predictor_of(model), part) for _, model in named)
    # All models get the same random numbers: differences between them are theirs alone.
    steps = (1, *horizons)
    judged = [judge(model, episodes, n_init=n_init, horizons=steps, key=key) for _, model in named]
    check_measured(judged[0])
    losses = [_losses(one) for one in judged]
    order = sorted(range(len(named)), key=lambda i: _average(losses[i]))
    best = order[0]
    entries = tuple(
        Entry(
            name=named[i][0],
            judged=judged[i],
            residuals=residual_tests(judged[i].predictions[1], judged[i].episodes),
            bands=bands(judged[i].scores, kind_as_learnt(predictor_of(named[i][1]))),
            p_value=None if i == best else difference_p_value(losses[i], losses[best]),
            settings=_settings.merged(predictor_of(named[i][1]).describe(), _settings.describe_training(named[i][1])),
        )
        for i in order
    )
    first = predictor_of(named[0][1])
    return Comparison(
        title=title or f"{', '.join(first.output_names)}: comparison of {len(named)} models",
        entries=entries,
        output_names=first.output_names,
        input_names=first.input_names,
        dt=first.dt,
        headline=_headline(entries),
        settings=_settings.describe_run(judged[0]),
        versions=_settings.versions(),
    )


def difference_p_value(
    losses: Sequence[Float[np.ndarray, " _"]], others: Sequence[Float[np.ndarray, " _"]]
) -> float | None:
    """Two-sided p-value that two models have the same expected loss (the test of Diebold and Mariano).

    The differences of their losses follow each other in time, so their average is as uncertain as that of fewer
    independent ones; that number is estimated from their autocorrelation, record by record.
    """
    with np.errstate(invalid="ignore"):  # two losses that are infinite have no difference
        differences = [a - b for a, b in zip(losses, others, strict=True)]
    joined = np.concatenate(differences)
    joined = joined[np.isfinite(joined)]
    if len(joined) < 3 or not np.isfinite(_average(losses)) or np.ptp(joined) == 0.0:
        return None
    centre = float(joined.mean())
    known = [np.isfinite(d) for d in differences]
    effective = sum(
        effective_sample_size(d, mean=centre, where=k) for d, k in zip(differences, known, strict=True) if k.any()
    )
    statistic = centre / math.sqrt(float(joined.var()) / effective)
    return float(2.0 * ndtr(-abs(statistic)))


def _losses(judged: Judged) -> list[np.ndarray]:
    """Squared error at each step of each record, summed over outputs in units of their spread; NaN if none measured."""
    spread, losses = judged.free_run.spread, []
    for rollout, episode in zip(judged.simulations, judged.episodes, strict=True):
        seen = episode.observed[rollout.start :] & np.isfinite(spread)
        losses.append(_squared(rollout, episode.y[rollout.start :], spread, seen))
    return losses


def _squared(rollout: Rollout, y: np.ndarray, spread: np.ndarray, seen: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):  # a run that leaves all bounds has an infinite loss
        total = np.where(seen, ((rollout.median - y) / spread) ** 2, 0.0).sum(axis=1)
    return np.where(seen.any(axis=1), np.where(np.isfinite(total), total, np.inf), np.nan)


def _average(losses: Sequence[np.ndarray]) -> float:
    joined = np.concatenate(losses)
    joined = joined[~np.isnan(joined)]
    return float(joined.mean()) if len(joined) else math.inf


def _headline(entries: Sequence[Entry]) -> str:
    best = entries[0]
    text = f"The best free simulation is that of {best.name} (fit {best.free_run.fit_overall:.1f} %)"
    rivals = [e.name for e in entries[1:] if not _worse(e, best)]
    if len(entries) == 1:
        text += "; there is no other to compare it with."
    elif rivals:
        text += f", but these data cannot tell it from {', '.join(rivals)} with 99 % confidence."
    else:
        text += "; the difference to each of the others is more than chance (99 %)."
    doubtful = [entry.name for entry in entries if entry.bands.grade in (Grade.bad, Grade.caution)]
    return f"{text} Bands that do not hold what they promise: {', '.join(doubtful)}." if doubtful else text


def _worse(entry: Entry, best: Entry) -> bool:
    """Whether it is worse by more than chance, or runs away where the best does not."""
    if entry.p_value is None:
        return bool(entry.free_run.broken) and not best.free_run.broken
    return entry.p_value < LEVEL
