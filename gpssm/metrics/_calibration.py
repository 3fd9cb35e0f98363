"""Is a probabilistic prediction as uncertain as it should be? Tests on probability integral transforms."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import chdtr, chdtrc, kolmogorov, ndtri

from gpssm.metrics._scored import Mask, Values, require_finite, require_level, scored_mask, to_array


@final
@dataclass(frozen=True)
class CalibrationResult:
    """Outcome of `calibration_test`."""

    statistic: float
    """Kolmogorov-Smirnov distance between the transforms and the uniform distribution."""
    spread: float
    """Standard deviation of the normal scores: 1 if right, 1.25 if sigma is 0.8 of the truth, 0.8 if it is 1.25."""
    uniformity_p_value: float
    spread_p_value: float
    p_value: float
    """Of both tests together (twice the smaller one, at most 1)."""
    num_effective: float
    passed: bool
    """True if p_value is at least 1 - level: no evidence of miscalibration."""


def calibration_test(
    pit: Values, *, num_effective: float | None = None, level: float = 0.99, where: ArrayLike | None = None
) -> CalibrationResult:
    """Test transforms for uniformity (Kolmogorov-Smirnov) and for the right spread (two-sided chi-square).

    The spread test looks at the variance of the normal scores around their own mean, and so finds a wrong sigma much
    sooner than the general test: at level 0.99, 200 independent values expose a factor of 0.8 or 1.25 nineteen times
    in twenty. Transforms of a free run are correlated in time and count for less than their number: pass
    ``num_effective=effective_pit_count(pit)``, or the sum of those over several episodes. Without it the values are
    taken as independent.
    """
    require_level(level)
    values, mask = _checked(pit, where)
    scored = np.sort(values[mask])
    count = len(scored)
    effective = float(count) if num_effective is None else float(num_effective)
    if not 1.0 < effective <= count:
        raise ValueError(f"num_effective must lie above 1 and not above the {count} scored values, got {effective}")

    ranks = np.arange(count)
    distance = float(max(np.max((ranks + 1) / count - scored), np.max(scored - ranks / count)))
    root = math.sqrt(effective)
    # Stephens' finite-sample form of the limiting law; accurate from about five values on.
    uniformity = float(kolmogorov(distance * (root + 0.12 + 0.11 / root)))

    degrees = effective - 1.0
    variance = float(np.var(_normal_scores(scored))) * effective / degrees
    spread = float(min(1.0, 2.0 * min(chdtr(degrees, degrees * variance), chdtrc(degrees, degrees * variance))))

    p_value = min(1.0, 2.0 * min(uniformity, spread))
    return CalibrationResult(
        statistic=distance,
        spread=math.sqrt(variance),
        uniformity_p_value=uniformity,
        spread_p_value=spread,
        p_value=p_value,
        num_effective=effective,
        passed=p_value >= 1.0 - level,
    )


def effective_pit_count(pit: Values, *, where: ArrayLike | None = None) -> float:
    """How many independent values the transforms of one episode, shape (T,) or (T, O), are worth.

    This is the number of independent values whose average is as uncertain as the average of these, from the
    autocorrelation of the normal scores summed over channels (so correlation between channels counts too) up to where
    it fades into noise. The same is done for their squares, on which the spread depends, and the smaller number is
    returned; it is never below two nor above the number of scored values. Missing entries are allowed.
    """
    values, mask = _checked(pit, where)
    if values.ndim not in (1, 2):
        raise ValueError(f"expected one episode of shape (T,) or (T, O), got {values.shape}")
    scores = _normal_scores(values[mask])
    centred = scores - scores.mean()
    squares = centred**2
    return min(_mean_worth(centred, mask), _mean_worth(squares - squares.mean(), mask))


def _mean_worth(centred: Float[np.ndarray, " scored"], mask: Mask) -> float:
    """The count times (variance of the sum, were all independent) / (its estimate), between 2 and the count."""
    count = float(len(centred))
    independent = float(np.sum(centred**2))
    if independent == 0.0:
        return 2.0
    filled = np.zeros(mask.shape)
    filled[mask] = centred
    rows = filled.reshape(len(filled), -1).sum(axis=1)
    steps = len(rows)
    spectrum = np.abs(np.fft.rfft(rows, 2 * steps)) ** 2
    products = np.fft.irfft(spectrum, 2 * steps)[: steps - steps % 2]
    # Sums of neighbouring autocovariances are positive and fall for reversible chains; the first one that is not
    # positive marks the noise floor, beyond which adding more lags only adds variance (Geyer's initial sequence).
    pairs = products.reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    kept = pairs[: negative[0]] if len(negative) else pairs
    variance_of_sum = 2.0 * float(np.sum(kept)) - float(products[0]) if len(kept) else 0.0
    if variance_of_sum <= independent:
        return count
    return max(2.0, count * independent / variance_of_sum)


def _checked(pit: Values, where: ArrayLike | None) -> tuple[Float[np.ndarray, "..."], Mask]:
    values = to_array(pit)
    mask = scored_mask(where, values.shape)
    require_finite("pit", values, mask)
    scored = values[mask]
    if len(scored) < 2:
        raise ValueError("at least two scored values are needed")
    if np.any((scored < 0.0) | (scored > 1.0)):
        raise ValueError(f"transforms lie in [0, 1], got values from {scored.min()} to {scored.max()}")
    return values, mask


def _normal_scores(pit: Float[np.ndarray, " scored"]) -> Float[np.ndarray, " scored"]:
    # A measurement far in the tail rounds to 0 or 1; it becomes a large score of about 8 instead of an infinite one.
    edge = np.finfo(np.float64).epsneg
    return ndtri(np.clip(pit, edge, 1.0 - edge))
