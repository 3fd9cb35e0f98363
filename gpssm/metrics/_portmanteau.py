"""Law of sample autocorrelations, and of their sum of squares, when the series is Gaussian white noise.

Write C_k for the sum over t of e[t] e[t+k], with gaps left out, and r_k = C_k / C_0. For Gaussian white noise the r_k
do not depend on C_0, so moments of r_k are moments of C_k divided by those of a chi-square variable; and moments of the
C_k count the ways in which products e[t] e[t+k] pair up. Each count below is a sum over the mask, so gaps need no
approximation of their own.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import gammaincc


@final
@dataclass(frozen=True, eq=False)
class WhiteNoiseLaw:
    """Moments of autocorrelations at lags 1..K, the sample mean subtracted, and of their portmanteau sum."""

    mean: Float[np.ndarray, " K"]
    variance: Float[np.ndarray, " K"]
    total_variance: float
    total_skewness: float

    def statistic(self, autocorrelation: Float[np.ndarray, "K O"]) -> Float[np.ndarray, " O"]:
        """Sum over lags of (r_k - mean)^2 / variance: Ljung-Box with the exact moments for its approximate ones."""
        return np.sum((autocorrelation - self.mean[:, None]) ** 2 / self.variance[:, None], axis=0)

    def p_value(self, statistic: Float[np.ndarray, " O"]) -> Float[np.ndarray, " O"]:
        """Upper tail of a shifted gamma law with the mean, variance and skewness of the statistic.

        The usual chi-square law with K degrees of freedom has the right mean, but with K = 25 and 300 steps its
        variance is 13 % and its skewness 30 % too small: it rejects 1.7 % of white series at level 0.99.
        """
        shape = 4.0 / self.total_skewness**2
        standardised = (statistic - len(self.mean)) / math.sqrt(self.total_variance)
        return gammaincc(shape, np.maximum(shape + math.sqrt(shape) * standardised, 0.0))


def white_noise_law(scored: Bool[np.ndarray, " T"], num_lags: int) -> WhiteNoiseLaw:
    """The law for lags 1..num_lags of a series observed where ``scored``; every lag must have at least one pair.

    Mean and variance of each r_k are exact with the sample mean subtracted. The variance of the sum is exact for a
    known mean, and its skewness is correct to first order in 1/T.
    """
    present = scored.astype(np.float64)
    count = float(present.sum())
    pairs = [_lagged(present, lag) for lag in range(1, num_lags + 1)]
    pair_counts = np.array([p.sum() for p in pairs])
    # How many pairs of each lag a step belongs to (0, 1 or 2).
    degrees = np.array([_ends(p, lag) for lag, p in enumerate(pairs, start=1)])

    mean = -pair_counts / (count * (count - 1.0))
    # Twice the trace of (M B M)^2, where M subtracts the mean and B is the symmetric matrix of the form C_k.
    spread = pair_counts - np.sum(degrees**2, axis=1) / count + 2.0 * (pair_counts / count) ** 2
    second = (spread + (pair_counts / count) ** 2) / ((count - 1.0) * (count + 1.0))
    variance = second - mean**2

    scale = np.sqrt(pair_counts / (count * (count + 2.0)))  # deviations of r_k for a known mean
    fourth = _fourth_moments(pairs, pair_counts, degrees) / math.prod(count + 2.0 * i for i in range(4))
    num = float(num_lags)
    total_variance = float(np.sum(fourth / np.outer(scale, scale) ** 2)) - num**2
    thirds = _third_moments(present, num_lags) / math.prod(count + 2.0 * i for i in range(3))
    squares, chained = 0.0, 0.0
    for (first, other), third in np.ndenumerate(thirds):
        if third > 0.0:
            cumulant = third / (scale[first] * scale[other] * scale[first + other + 1])
            squares += 3.0 * cumulant**2  # three places for the longest lag among the ordered triples
            chained += cumulant**2 if first == other else 0.0
    # Third cumulant of a sum of squares, from the cumulants of its terms, to first order in 1/T.
    third_cumulant = 8.0 * num + 12.0 * (total_variance - 2.0 * num) + 4.0 * squares + 6.0 * chained
    return WhiteNoiseLaw(mean, variance, total_variance, third_cumulant / total_variance**1.5)


def _fourth_moments(
    pairs: list[Float[np.ndarray, " _"]], pair_counts: Float[np.ndarray, " K"], degrees: Float[np.ndarray, "K T"]
) -> Float[np.ndarray, "K K"]:
    """E[C_k^2 C_l^2] for white noise of unit variance."""
    # A pair of lag k twice and one of lag l twice: 1 each, 3 if they share a step (fourth moment of a normal).
    moments = np.outer(pair_counts, pair_counts) + 2.0 * degrees @ degrees.T
    for first, pair in enumerate(pairs):
        for other in range(first):
            # Four different pairs pair up too, when they are the sides of a parallelogram t, t+k, t+l, t+k+l.
            parallelograms = float(_lagged(pair, other + 1).sum())
            moments[first, other] += 4.0 * parallelograms
            moments[other, first] += 4.0 * parallelograms
    same = 3.0 * pair_counts**2 + 6.0 * pair_counts
    chains = np.sum(degrees == 2.0, axis=1)  # t, t+k, t+2k: two neighbouring pairs of one lag
    np.fill_diagonal(moments, same + 12.0 * chains)
    return moments


def _third_moments(present: Float[np.ndarray, " T"], num_lags: int) -> Float[np.ndarray, "K K"]:
    """E[C_k C_l C_(k+l)] for white noise of unit variance, at [k-1, l-1]; zero where k + l exceeds the lags."""
    triangles = np.zeros((num_lags, num_lags))
    for first in range(1, num_lags):
        pair = _lagged(present, first)
        for other in range(1, num_lags - first + 1):
            if first + other < len(present):
                triangles[first - 1, other - 1] = float(pair[: len(present) - first - other] @ present[first + other :])
    return triangles + triangles.T


def _lagged(series: Float[np.ndarray, " T"], lag: int) -> Float[np.ndarray, " _"]:
    return series[: max(len(series) - lag, 0)] * series[lag:]


def _ends(pair: Float[np.ndarray, " _"], lag: int) -> Float[np.ndarray, " T"]:
    padding = np.zeros(lag)
    return np.concatenate([pair, padding]) + np.concatenate([padding, pair])
