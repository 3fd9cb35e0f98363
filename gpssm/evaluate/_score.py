"""The one score: how good the predictions of one horizon are, for console, page, comparison and selection alike."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri
from scipy.stats import binom

from gpssm.data import Episode
from gpssm.metrics import (
    CalibrationResult,
    calibration_test,
    crps_samples,
    effective_pit_count,
    log_density_samples,
    pit_samples,
)
from gpssm.predict import Rollout

LEVELS = (0.5, 0.8, 0.95)
POOR_FIT, POOR_COVERAGE = 50.0, 0.8
"""Below these, a user is warned not to rely on the model."""
CONFIDENCE = 0.99
"""That the shares of one horizon all lie in their ranges, if the intervals are right."""


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
    nrmse: Float[np.ndarray, " O"]
    """In units of the standard deviation of the measurements: 1 is as good as their average."""
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
    """Mean log predictive density per measured value, in the units of the outputs."""
    crps: float
    """Mean continuous ranked probability score, outputs in units of their standard deviation."""
    broken: int
    """Measured entries for which the prediction is not finite; they are left out above."""

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
    def poor(self) -> bool:
        """Whether a user should not rely on the model: hardly better than a constant, or bands that do not hold."""
        return not (self.fit_overall >= POOR_FIT and self.coverage95 >= POOR_COVERAGE)

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


def score(rollouts: Sequence[Rollout], episodes: Iterable[Episode], *, horizon: int | None, rng: np.random.Generator) -> Score:
    """Pool all records. Measurements are scored where they exist and the prediction is finite."""
    episodes = tuple(episodes)
    truths, means, deviations, references, masks, transforms = [], [], [], [], [], []
    effective, broken = 0.0, 0
    for rollout, episode in zip(rollouts, episodes, strict=True):
        steps = slice(rollout.start, rollout.start + len(rollout))
        y, seen = episode.y[steps], episode.observed[steps]
        finite = np.isfinite(rollout.samples).all(axis=0) & np.isfinite(rollout.signals).all(axis=0)
        broken += int(np.sum(seen & ~finite))
        where = seen & finite
        truths.append(y)
        with np.errstate(all="ignore"):  # entries that are not finite are masked
            means.append(rollout.mean)
        deviations.append(band_deviation(rollout))
        references.append(_held(episode.y_with_nan, steps, horizon))
        masks.append(where)
        if where.sum() >= 2:
            pit = pit_samples(y, rollout.samples, rng=rng, where=where)
            effective += effective_pit_count(pit, where=where)
            transforms.append(pit[where])
        elif where.any():
            effective += 1.0
            transforms.append(pit_samples(y, rollout.samples, rng=rng, where=where)[where])
    y, mean, deviation, where = (np.concatenate(parts) for parts in (truths, means, deviations, masks))
    pits = np.concatenate(transforms) if transforms else np.zeros(0)
    spread = _deviation(y, where)
    density, crps = _probabilistic(rollouts, episodes, spread)
    rmse = _root_mean(np.where(where, mean - y, 0.0) ** 2, where)
    held = np.concatenate(references)
    known = where & np.isfinite(held)
    reference = spread if horizon is None else _root_mean(np.where(known, held - y, 0.0) ** 2, known)
    return Score(
        horizon=horizon,
        rmse=rmse,
        nrmse=rmse / spread,
        reference_rmse=reference,
        band=_mean(np.where(where, deviation, 0.0), where) / spread,
        pit=pits,
        num_effective=effective,
        coverage=coverage_of(pits, effective),
        calibration=calibration_test(pits, num_effective=min(effective, len(pits))) if effective >= 2.0 else None,
        log_density=density,
        crps=crps,
        broken=broken,
    )


def _probabilistic(rollouts: Sequence[Rollout], episodes: Iterable[Episode], spread: np.ndarray) -> tuple[float, float]:
    """Log density in the user's units and CRPS in units of the signals, over all measured values."""
    density, crps, count = 0.0, 0.0, 0
    for rollout, episode in zip(rollouts, episodes, strict=True):
        steps = slice(rollout.start, rollout.start + len(rollout))
        y, finite = episode.y[steps], np.isfinite(rollout.signals).all(axis=0)
        where = episode.observed[steps] & finite & np.isfinite(spread)
        if where.any():
            number = int(where.sum())
            density += number * log_density_samples(y, rollout.signals, rollout.noise_std, where=where)
            unit = np.where(np.isfinite(spread), spread, 1.0)
            crps += number * crps_samples(y / unit, rollout.samples / unit, where=where)
            count += number
    return (density / count, crps / count) if count else (float("nan"), float("nan"))


def coverage_of(pits: Float[np.ndarray, " N"], num_effective: float) -> Coverage:
    """Shares inside central intervals, read off the transforms, with binomial ranges for the effective number."""
    count = max(1, int(num_effective))
    tail = 0.5 * (1.0 - CONFIDENCE) / len(LEVELS)
    shares = [float(np.mean(np.abs(pits - 0.5) <= 0.5 * level)) if len(pits) else float("nan") for level in LEVELS]
    return Coverage(
        levels=LEVELS,
        observed=tuple(shares),
        lower=tuple(float(binom.ppf(tail, count, level)) / count for level in LEVELS),
        upper=tuple(float(binom.ppf(1.0 - tail, count, level)) / count for level in LEVELS),
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
