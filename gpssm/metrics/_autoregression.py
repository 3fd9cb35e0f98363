"""Autocovariance of a residual series, smoothed by an autoregression."""

import numpy as np
from jaxtyping import Bool, Float


def extended_autocorrelation(
    series: Float[np.ndarray, " T"], scored: Bool[np.ndarray, " T"], order: int
) -> Float[np.ndarray, " T"]:
    """Autocorrelations at lags 0..T-1: the sample's up to ``order``, an autoregression's of that order beyond.

    The series has zero mean and is zero where not scored. The Yule-Walker equations, solved by Levinson's recursion,
    give the extension, which is a valid autocorrelation: the recursion stops early if gaps make the next sample value
    an impossible one.
    """
    steps = len(series)
    sample = _sample_autocorrelation(series, scored, min(order, steps - 1))
    coefficients = np.zeros(0)
    error = 1.0
    for lag in range(1, len(sample)):
        reflection = (sample[lag] - coefficients @ sample[lag - 1 : 0 : -1]) / error
        if not abs(reflection) < 1.0:
            break
        coefficients = np.append(coefficients - reflection * coefficients[::-1], reflection)
        error *= 1.0 - reflection**2
    used = len(coefficients)
    extended = np.zeros(steps)
    extended[: used + 1] = sample[: used + 1]
    for lag in range(used + 1, steps if used else 0):
        extended[lag] = coefficients @ extended[lag - 1 : lag - used - 1 : -1]
    return extended


def _sample_autocorrelation(
    series: Float[np.ndarray, " T"], scored: Bool[np.ndarray, " T"], order: int
) -> Float[np.ndarray, " _"]:
    """Lags 0..order (fewer if gaps leave a lag without pairs); without gaps the usual estimate with divisor T."""
    steps = len(series)
    variance = float(np.sum(series**2)) / int(scored.sum())
    values = [1.0]
    for lag in range(1, order + 1):
        pairs = int(np.sum(scored[:-lag] & scored[lag:]))
        if pairs == 0:
            break
        values.append(float(series[:-lag] @ series[lag:]) / pairs / variance * (steps - lag) / steps)
    return np.array(values)
