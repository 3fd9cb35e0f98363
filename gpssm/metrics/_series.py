"""What the tests on residual series share."""

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from gpssm.metrics._scored import Values, require_finite, scored_mask, to_array


def series_columns(
    name: str, values: Values, where: ArrayLike | None = None
) -> tuple[Float[np.ndarray, "T O"], Bool[np.ndarray, "T O"]]:
    """The values as columns over time, from shape (T,) or (T, O), with their mask."""
    array = to_array(values)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must have shape (T,) or (T, channels), got {array.shape}")
    mask = scored_mask(where, array.shape)
    require_finite(name, array, mask)
    return (array, mask) if array.ndim == 2 else (array[:, None], mask[:, None])


def centred(name: str, columns: Float[np.ndarray, "T O"], mask: Bool[np.ndarray, "T O"]) -> Float[np.ndarray, "T O"]:
    """Columns minus their scored average, zero where not scored; every column must vary."""
    counts = mask.sum(axis=0)
    if np.any(counts < 3):
        raise ValueError(
            f"{name} channel {int(np.argmin(counts))} has {counts.min()} usable steps, at least 3 are needed"
        )
    for channel, column in enumerate(columns.T):
        if np.ptp(column[mask[:, channel]]) == 0.0:
            raise ValueError(f"{name} channel {channel} is constant: it has no correlations")
    filled = np.where(mask, columns, 0.0)
    return np.where(mask, filled - filled.sum(axis=0) / counts, 0.0)


def combined_p_value(p_values: Float[np.ndarray, " O"]) -> float:
    """One p-value for several tests, however they depend on each other (Bonferroni)."""
    return float(min(1.0, len(p_values) * p_values.min()))
