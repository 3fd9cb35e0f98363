"""The one score: how good the predictions of one horizon are, for console, page, comparison and selection alike."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtri

from gpssm.data import Episode
from gpssm.metrics import (
    CalibrationResult,
    calibration_test,
    crps_samples,
    effective_pit_count,
    log_density_samples,
    pit_samples,
)
from gpssm.metrics._binomial import binomial_quantile
from gpssm.predict import Rollout

LEVELS = (0.5, 0.8, 0.95)
POOR_FIT, POOR_COVERAGE = 50.0, 0.8
"""Below these, a user is warned not to rely on the model."""
CONFIDENCE = 0.99
"""That the shares of one horizon all lie in their ranges, if the intervals are right."""
LEAST_NOISE = 1e-12
"""A predictor that claims to measure without noise has no density; it is taken to have this much."""


@final
@dataclass(frozen=True)
class Coverage:
    """Share of measurements inside central intervals, and where it lies with 99 % probability if they are right."""

    levels: tuple[float, ...]
    observed: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @property
    def passed(self) -> bool:
        """Whether every share lies in its range."""
        return all(low <= share <= high for share, low, high in zip(self.observed, self.lower, self.upper, strict=True))


@final
@dataclass(frozen=True, eq=False)
class Score:
    """Predictions of one horizon against measurements; arrays have one entry for each output."""

    horizon: int | None
    """Steps ahead; None for the free run."""
    rmse: Float[np.ndarray, " O"]
    """Of the median: a few trajectories that leave the range of the data pull the mean with them."""
    spread: Float[np.ndarray, " O"]
    """Standard deviation of the measurements; NaN for an output that never changes."""
    reference_rmse: Float[np.ndarray, " O"]
    """Of holding the value measured `horizon` steps before; for the free run, of the best constant."""
    band: Float[np.ndarray, " O"]
    """Average width of the 95 % band in units of that of a Gaussian with the spread of the measurements."""
    pit: Float[np.ndarray, " N"]
    num_effective: float
    """How many independent measurements the correlated ones are worth."""
    coverage: Coverage
    calibration: CalibrationResult | None
    """None if too few measurements are left to test."""
    log_density: float
    """Mean log predictive density per measured value, in the units of the outputs; minus infinity if no trajectory is
    finite where something was measured."""
    crps: float
    """Mean continuous ranked probability score, outputs in units of their standard deviation."""
    broken: int
    """Measured entries for which not every trajectory is finite; only the log density does not leave them out."""

    @property
    def nrmse(self) -> Float[np.ndarray, " O"]:
        """RMSE in units of the standard deviation of the measurements: 1 is as good as their average."""
        return self.rmse / self.spread

    @property
    def fit_percent(self) -> Float[np.ndarray, " O"]:
        """100 (1 - nrmse): 100 is perfect, 0 is as good as a constant."""
        return 100.0 * (1.0 - self.nrmse)

    @property
    def rmse_overall(self) -> float:
        """Root mean square over all outputs, in their units."""
        return float(np.sqrt(np.nanmean(self.rmse**2))) if np.isfinite(self.rmse).any() else float("nan")

    @property
    def fit_overall(self) -> float:
        """`fit_percent`, averaged over the outputs that vary."""
        return float(np.nanmean(self.fit_percent)) if np.isfinite(self.nrmse).any() else float("nan")

    @property
    def coverage95(self) -> float:
        """Share of the measurements inside the 95 % band."""
        return self.coverage.observed[LEVELS.index(0.95)]

    @property
    def value(self) -> float:
        """Half of log-density minus log-error, which asks for accuracy and for honest bands; minus infinity for runs
        that leave all bounds. Between models, and on the same records, a difference does not depend on units."""
        errors = np.maximum(self.rmse[np.isfinite(self.rmse)], LEAST_NOISE)
        found = 0.5 * (self.log_density - float(np.mean(np.log(errors)))) if len(errors) else -np.inf
        return -np.inf if self.broken or not np.isfinite(found) else found

    @property
    def poor(self) -> bool:
        """Whether a user should not rely on the model: hardly better than a constant, bands that do not hold, or runs
        that leave all bounds."""
        return bool(self.broken) or not (self.fit_overall >= POOR_FIT and self.coverage95 >= POOR_COVERAGE)

    def facts(self) -> dict[str, float]:
        """The few numbers that people compare, for machines."""
        return {
            "rmse": self.rmse_overall,
            "fit_percent": self.fit_overall,
            "log_density": self.log_density,
            "coverage95": self.coverage95,
            "crps": self.crps,
        }

    def sentence(self) -> str:
        """The same for people."""
        return (
            f"RMSE {self.rmse_overall:.4g}, fit {self.fit_overall:.1f} %, {100 * self.coverage95:.0f} % of the samples "
            f"inside the 95 % band, log density {self.log_density:.3f}."
        )

    @property
    def name(self) -> str:
        """The horizon in words."""
        if self.horizon is None:
            return "free run"
        return "1 step" if self.horizon == 1 else f"{self.horizon} steps"


def score(
    rollouts: Sequence[Rollout], episodes: Iterable[Episode], *, horizon: int | None, rng: np.random.Generator
) -> Score:
    """Pool all records. Measurements are scored where they exist and the prediction is finite."""
    episodes = tuple(episodes)
    truths, medians, deviations, references, measured, masks, transforms = [], [], [], [], [], [], []
    effective = 0.0
    for rollout, episode in zip(rollouts, episodes, strict=True):
        steps = slice(rollout.start, rollout.start + len(rollout))
        y, seen = episode.y[steps], episode.observed[steps]
        where = seen & _finite(rollout)
        truths.append(y)
        with np.errstate(all="ignore"):  # entries that are not finite are masked
            medians.append(rollout.median)
        deviations.append(band_deviation(rollout))
        references.append(_held(episode.y_with_nan, steps, horizon))
        measured.append(seen)
        masks.append(where)
        if where.any():
            pit = pit_samples(y, rollout.samples, rng=rng, where=where)
            effective += effective_pit_count(pit, where=where) if where.sum() >= 2 else 1.0
            transforms.append(pit[where])
    listed = (truths, medians, deviations, measured, masks)
    y, median, deviation, seen, where = (np.concatenate(parts) for parts in listed)
    pits = np.concatenate(transforms) if transforms else np.zeros(0)
    # Of all measurements: models that break down at different steps are put in proportion to the same signal.
    spread = _deviation(y, seen)
    held = np.concatenate(references)
    known = where & np.isfinite(held)
    return Score(
        horizon=horizon,
        rmse=_root_mean(np.where(where, median - y, 0.0) ** 2, where),
        spread=spread,
        reference_rmse=spread if horizon is None else _root_mean(np.where(known, held - y, 0.0) ** 2, known),
        band=_mean(np.where(where, deviation, 0.0), where) / spread,
        pit=pits,
        num_effective=effective,
        coverage=coverage_of(pits, effective),
        calibration=calibration_test(pits, num_effective=min(effective, len(pits))) if effective >= 2.0 else None,
        log_density=_log_density(rollouts, episodes),
        crps=_crps(rollouts, episodes, spread),
        broken=int(np.sum(seen & ~where)),
    )


def _log_density(rollouts: Sequence[Rollout], episodes: Iterable[Episode]) -> float:
    """Over all measured values. A trajectory that is not finite gives them no density at all."""
    total, count = 0.0, 0
    for rollout, episode in zip(rollouts, episodes, strict=True):
        steps = slice(rollout.start, rollout.start + len(rollout))
        seen = episode.observed[steps]
        if seen.any():
            number = int(seen.sum())
            signals = np.where(np.isfinite(rollout.signals), rollout.signals, np.inf)
            noise = np.maximum(rollout.noise_std, LEAST_NOISE)
            with np.errstate(all="ignore"):  # squares of far trajectories overflow to the right limit
                total += number * log_density_samples(episode.y[steps], signals, noise, where=seen)
            count += number
    return total / count if count else float("nan")


def _crps(rollouts: Sequence[Rollout], episodes: Iterable[Episode], spread: np.ndarray) -> float:
    """Over all measured values of outputs that vary, in units of their spread."""
    total, count = 0.0, 0
    for rollout, episode in zip(rollouts, episodes, strict=True):
        steps = slice(rollout.start, rollout.start + len(rollout))
        where = episode.observed[steps] & _finite(rollout) & np.isfinite(spread)
        if where.any() and len(rollout.samples) > 1:
            number = int(where.sum())
            unit = np.where(np.isfinite(spread), spread, 1.0)
            total += number * crps_samples(episode.y[steps] / unit, rollout.samples / unit, where=where)
            count += number
    return total / count if count else float("nan")


def _finite(rollout: Rollout) -> Bool[np.ndarray, "T O"]:
    """Where all trajectories are."""
    return np.all(np.isfinite(rollout.samples) & np.isfinite(rollout.signals), axis=0)


def coverage_of(pits: Float[np.ndarray, " N"], num_effective: float) -> Coverage:
    """Shares inside central intervals, read off the transforms, with binomial ranges for the effective number."""
    count = max(1, int(num_effective))
    tail = 0.5 * (1.0 - CONFIDENCE) / len(LEVELS)
    shares = [float(np.mean(np.abs(pits - 0.5) <= 0.5 * level)) if len(pits) else float("nan") for level in LEVELS]
    return Coverage(
        levels=LEVELS,
        observed=tuple(shares),
        lower=tuple(binomial_quantile(tail, count, level) / count for level in LEVELS),
        upper=tuple(binomial_quantile(1.0 - tail, count, level) / count for level in LEVELS),
    )


def band_deviation(rollout: Rollout) -> Float[np.ndarray, "T O"]:
    """The standard deviation that a Gaussian with the same 95 % band has.

    A few trajectories that leave the others far behind make the variance of a free run meaningless, but not its band.
    """
    with np.errstate(all="ignore"):
        low, high = rollout.interval(0.95)
        return (high - low) / (2.0 * ndtri(0.975))


def _held(y: np.ndarray, steps: slice, horizon: int | None) -> np.ndarray:
    """What was measured `horizon` steps before each step; NaN where nothing was."""
    if horizon is None:
        return np.full_like(y[steps], np.nan)
    return y[steps.start - horizon : steps.stop - horizon]


def _mean(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    counts = where.sum(axis=0)
    return np.divide(values.sum(axis=0), counts, out=np.full(len(counts), np.nan), where=counts > 0)


def _root_mean(squares: np.ndarray, where: np.ndarray) -> np.ndarray:
    return np.sqrt(_mean(squares, where))


def _deviation(y: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Standard deviation of each output; NaN for one that never changes, which no relative error can describe."""
    columns = [y[rows, i] for i, rows in enumerate(where.T)]
    return np.array([c.std() if len(c) > 1 and np.ptp(c) > 0.0 else np.nan for c in columns])
