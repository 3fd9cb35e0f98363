"""Whether residuals are white, that is, whether the model left something predictable in them."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy.special import ndtri

from gpssm.metrics._portmanteau import white_noise_law
from gpssm.metrics._scored import Values, require_level
from gpssm.metrics._series import centred, combined_p_value, series_columns


@final
@dataclass(frozen=True, eq=False)
class WhitenessResult:
    """Outcome of `residual_whiteness`; K lags, O channels."""

    lags: Int[np.ndarray, " K"]
    autocorrelation: Float[np.ndarray, "K O"]
    lower: Float[np.ndarray, "K O"]
    """Bounds that the autocorrelation at one given lag keeps with probability ``level`` if the series is white."""
    upper: Float[np.ndarray, "K O"]
    statistic: Float[np.ndarray, " O"]
    channel_p_values: Float[np.ndarray, " O"]
    p_value: float
    """Of all channels together: the smallest times the number of channels, at most 1."""
    passed: bool
    """True if p_value is at least 1 - level: no evidence of colour."""


def residual_whiteness(
    residuals: Values, *, lags: int = 25, level: float = 0.99, where: ArrayLike | None = None
) -> WhitenessResult:
    """Autocorrelation with bounds and a portmanteau test of residuals (T,) or (T, O), one series per channel.

    The mean of each channel is subtracted: a constant bias is an error, but not colour. The portmanteau statistic is
    Ljung-Box with the exact mean and variance of each autocorrelation, and its p-value uses three moments of its law
    for Gaussian white noise of this length (and with these gaps) instead of the chi-square limit, which raises too many
    alarms on short series. Steps not scored are gaps, not zeros: pairs that touch one are left out. The test is for
    residuals on fresh data; on data that the model was fitted to, fitting uses up some of the freedom and the test
    rejects too seldom.
    """
    require_level(level)
    columns, mask = series_columns("residuals", residuals, where)
    series = centred("residuals", columns, mask)
    steps, channels = series.shape
    if not 1 <= lags < steps:
        raise ValueError(f"lags must lie between 1 and {steps - 1} for {steps} steps, got {lags}")
    pair_counts = np.array([(mask[:-lag] & mask[lag:]).sum(axis=0) for lag in range(1, lags + 1)])
    if np.any(pair_counts == 0):
        lag, channel = (int(i) for i in np.argwhere(pair_counts == 0)[0])
        raise ValueError(f"channel {channel} has no two scored steps {lag + 1} apart; use fewer lags")
    products = np.array([np.sum(series[:-lag] * series[lag:], axis=0) for lag in range(1, lags + 1)])
    autocorrelation = products / np.sum(series**2, axis=0)

    lower, upper = np.empty_like(autocorrelation), np.empty_like(autocorrelation)
    statistic, p_values = np.empty(channels), np.empty(channels)
    quantile = ndtri(0.5 + 0.5 * level)
    # Channels with the same gaps share one law.
    patterns, members = np.unique(mask, axis=1, return_inverse=True)
    for index, pattern in enumerate(patterns.T):
        same = members.ravel() == index
        law = white_noise_law(pattern, lags)
        half_width = quantile * np.sqrt(law.variance)
        lower[:, same] = (law.mean - half_width)[:, None]
        upper[:, same] = (law.mean + half_width)[:, None]
        statistic[same] = law.statistic(autocorrelation[:, same])
        p_values[same] = law.p_value(statistic[same])
    p_value = combined_p_value(p_values)
    return WhitenessResult(
        lags=np.arange(1, lags + 1),
        autocorrelation=autocorrelation,
        lower=lower,
        upper=upper,
        statistic=statistic,
        channel_p_values=p_values,
        p_value=p_value,
        passed=p_value >= 1.0 - level,
    )
