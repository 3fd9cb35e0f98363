"""How often the truth lies inside the predicted interval."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from gpssm.metrics._scored import Values, matched, matched_samples, require_level, scored_std


def interval_coverage(y: Values, lower: Values, upper: Values, *, where: ArrayLike | None = None) -> float:
    """Fraction of scored entries with lower <= y <= upper; a NaN end covers nothing."""
    measured, mask, (low, high) = matched(y, where, lower=lower, upper=upper)
    if np.any(low[mask] > high[mask]):
        raise ValueError("lower exceeds upper at some scored entry")
    return float(np.mean((low[mask] <= measured[mask]) & (measured[mask] <= high[mask])))


def coverage_gaussian(
    y: Values, mean: Values, std: Values, *, level: float = 0.95, where: ArrayLike | None = None
) -> float:
    """Fraction of scored entries within the central Gaussian interval of the given probability."""
    require_level(level)
    measured, mask, (predicted,) = matched(y, where, mean=mean)
    half_width = ndtri(0.5 + 0.5 * level) * scored_std(std, mask, name="std")
    return float(np.mean(np.abs(measured[mask] - predicted[mask]) <= half_width))


def coverage_samples(y: Values, samples: Values, *, level: float = 0.95, where: ArrayLike | None = None) -> float:
    """Fraction of scored entries within the central interval between sample quantiles.

    The samples are of the measurement, noise included. Quantiles sit at rank p (S + 1), because the truth is then the
    (S+1)-th draw: the more common rank p (S - 1) + 1 gives intervals that are too short by about 2/S in probability.
    """
    require_level(level)
    tail = 0.5 * (1.0 - level)
    # The tiny slack keeps 1/0.025 - 1 at 39 whatever the rounding of the level.
    minimum = math.ceil(1.0 / tail - 1.0 - 1e-9)
    measured, mask, draws = matched_samples(y, samples, where, minimum=minimum)
    low, high = np.quantile(draws[:, mask], [tail, 1.0 - tail], axis=0, method="weibull")
    return float(np.mean((low <= measured[mask]) & (measured[mask] <= high)))
