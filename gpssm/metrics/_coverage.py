"""How often the truth lies inside the predicted interval."""

import numpy as np
from numpy.typing import ArrayLike

from gpssm.metrics._scored import Values, matched


def interval_coverage(y: Values, lower: Values, upper: Values, *, where: ArrayLike | None = None) -> float:
    """Fraction of scored entries with lower <= y <= upper; a NaN end covers nothing."""
    measured, mask, (low, high) = matched(y, where, lower=lower, upper=upper)
    if np.any(low[mask] > high[mask]):
        raise ValueError("lower exceeds upper at some scored entry")
    return float(np.mean((low[mask] <= measured[mask]) & (measured[mask] <= high[mask])))
