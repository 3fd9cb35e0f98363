"""Is a probabilistic prediction as uncertain as it should be? Tests on probability integral transforms."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import chdtr, chdtrc, kolmogorov, ndtri

from gpssm.metrics._effective_size import effective_sample_size
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

    This is the `effective_sample_size` of the normal scores, or of their squares, on which the spread depends,
    whichever is smaller; but at least two, because one value has no spread. Missing entries are allowed.
    """
    values, mask = _checked(pit, where)
    if values.ndim not in (1, 2):
        raise ValueError(f"expected one episode of shape (T,) or (T, O), got {values.shape}")
    scores = np.zeros(values.shape)
    scores[mask] = _normal_scores(values[mask])
    squares = (scores - scores[mask].mean()) ** 2
    return max(2.0, min(effective_sample_size(scores, where=mask), effective_sample_size(squares, where=mask)))


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
