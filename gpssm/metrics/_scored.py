"""The checks that every metric shares: equal shapes, something to score, positive deviations."""

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

_MASK_HINT = "pass where= with False at the missing entries"

Values = ArrayLike | float | int
"""Anything NumPy turns into an array of numbers (plain scalars named for run-time type checkers)."""

Array = Float[np.ndarray, "..."]
Mask = Bool[np.ndarray, "..."]


def to_array(values: Values) -> Array:
    """The values as a float64 array."""
    return np.asarray(values, dtype=np.float64)


def scored_mask(where: ArrayLike | None, shape: tuple[int, ...]) -> Mask:
    """The mask of scored entries, of the given shape; an axis of length one is stretched (a mask of whole steps)."""
    if where is None:
        mask = np.ones(shape, dtype=bool)
    else:
        given = np.asarray(where)
        if given.dtype != np.bool_:
            raise ValueError(f"where must be boolean, got dtype {given.dtype}")
        stretches = given.ndim == len(shape) and all(g in (1, s) for g, s in zip(given.shape, shape, strict=True))
        if not stretches:
            raise ValueError(f"where has shape {given.shape}, the values have shape {shape}")
        mask = np.broadcast_to(given, shape)
    if not mask.any():
        raise ValueError(f"nothing to score: no entry of the values of shape {shape} is selected by where")
    return mask


def matched(y: Values, where: ArrayLike | None, **predictions: Values) -> tuple[Array, Mask, list[Array]]:
    """Measured values, mask and predictions, after checking that all have the shape of y and that scored y is finite.

    Predictions may hold NaN: a diverged model then has a NaN score, while a NaN measurement is a mistake of the caller.
    """
    measured = to_array(y)
    arrays = []
    for name, prediction in predictions.items():
        array = to_array(prediction)
        if array.shape != measured.shape:
            raise ValueError(f"{name} has shape {array.shape} but y has shape {measured.shape}")
        arrays.append(array)
    mask = scored_mask(where, measured.shape)
    require_finite("y", measured, mask)
    return measured, mask, arrays


def matched_samples(
    y: Values, samples: Values, where: ArrayLike | None, *, minimum: int = 1
) -> tuple[Array, Mask, Array]:
    """As `matched`, for samples with one more leading axis than y."""
    measured, mask, _ = matched(y, where)
    draws = to_array(samples)
    if draws.shape[1:] != measured.shape or draws.ndim != measured.ndim + 1:
        raise ValueError(f"samples have shape {draws.shape}, expected (S, *y.shape) with y.shape = {measured.shape}")
    if draws.shape[0] < minimum:
        raise ValueError(f"{draws.shape[0]} samples are too few, at least {minimum} are needed")
    return measured, mask, draws


def scored_std(std: Values, mask: Mask, *, name: str) -> Float[np.ndarray, " scored"]:
    """Standard deviations of the scored entries; a number or one per channel is stretched to all of them."""
    given = to_array(std)
    try:
        deviations = np.broadcast_to(given, mask.shape)[mask]
    except ValueError:
        raise ValueError(f"{name} has shape {given.shape}, which does not stretch to {mask.shape}") from None
    if np.any(deviations <= 0.0):
        raise ValueError(f"{name} must be positive, its smallest scored entry is {np.nanmin(deviations)}")
    return deviations


def require_finite(name: str, values: Array, mask: Mask) -> None:
    """Refuse NaN and infinities among the scored entries."""
    bad = np.argwhere(mask & ~np.isfinite(values))
    if len(bad):
        index = tuple(int(i) for i in bad[0])
        raise ValueError(f"{name}{list(index)} is {values[index]}; {_MASK_HINT}")


def require_level(level: float) -> None:
    """Refuse a probability outside the open unit interval."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level}")


def as_columns(values: np.ndarray) -> np.ndarray:
    """All leading axes flattened: shape (N, channels), where a one-dimensional array is one channel."""
    return values.reshape(-1, values.shape[-1]) if values.ndim >= 2 else values.reshape(-1, 1)
