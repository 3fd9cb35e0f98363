"""How a score grows with the number of steps ahead."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from gpssm.metrics._scored import Values, require_finite, scored_mask, to_array


def by_horizon(values: Values, *, where: ArrayLike | None = None) -> Float[np.ndarray, " T"]:
    """Average of per-entry values at every step, over episodes and channels; NaN where a step has no scored entry.

    Shapes: (T,), (T, O) or with leading episode axes (..., T, O); a single channel of several episodes is (B, T, 1).
    For the RMSE per step, pass squared errors and take the square root of the result.
    """
    array = to_array(values)
    mask = scored_mask(where, array.shape)
    require_finite("values", array, mask)
    if array.ndim == 0:
        raise ValueError("values need a step axis: shape (T,), (T, O) or (..., T, O)")
    if array.ndim == 1:
        array, mask = array[:, None], mask[:, None]
    others = tuple(axis for axis in range(array.ndim) if axis != array.ndim - 2)
    counts = mask.sum(axis=others)
    totals = np.where(mask, array, 0.0).sum(axis=others)
    return np.divide(totals, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
