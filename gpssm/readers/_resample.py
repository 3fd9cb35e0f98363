"""Unevenly sampled records brought to an even time step, when the user asks for it."""

import numpy as np
from jaxtyping import Float64

from gpssm.data import DataError

MAX_STEPS = 10_000_000


def resampled(
    time: Float64[np.ndarray, " T"],
    y: Float64[np.ndarray, "T O"],
    u: Float64[np.ndarray, "T P"],
    step: float,
    name: str,
) -> tuple[Float64[np.ndarray, "S O"], Float64[np.ndarray, "S P"], float]:
    """Outputs by straight lines between neighbours, inputs held.

    Where two measurements of an output are more than one and a half steps (new or usual) apart, what lies between them
    is missing rather than invented.
    """
    span = time[-1] - time[0]
    if span < step:
        raise DataError(f"{name}: it lasts {span:g}, less than the time step {step:g} asked for; choose a smaller one")
    if span / step > MAX_STEPS:
        raise DataError(f"{name}: resampling to {step:g} would give {span / step:.0f} rows; choose a larger time step")
    # Rounding must not push the last step beyond the record.
    grid = np.minimum(time[0] + step * np.arange(int(np.floor(span / step + 1e-9)) + 1), time[-1])
    outputs = np.stack([_lines(time, column, grid, step) for column in y.T], axis=1)
    held = np.clip(np.searchsorted(time, grid + 1e-9 * step, side="right") - 1, 0, len(time) - 1)
    return outputs, u[held], step


def _lines(
    time: Float64[np.ndarray, " T"], values: Float64[np.ndarray, " T"], grid: Float64[np.ndarray, " S"], step: float
) -> Float64[np.ndarray, " S"]:
    seen = ~np.isnan(values)
    if not seen.any():
        return np.full(len(grid), np.nan)
    known, at = values[seen], time[seen]
    result = np.interp(grid, at, known, left=np.nan, right=np.nan)
    after = np.clip(np.searchsorted(at, grid), 0, len(at) - 1)
    before = np.clip(after - 1, 0, len(at) - 1)
    near = np.minimum(np.abs(at[after] - grid), np.abs(at[before] - grid)) <= 1e-6 * step
    usual = max(step, float(np.median(np.diff(time))))
    far = (at[after] - at[before] > 1.5 * usual) & ~near
    return np.where(far, np.nan, result)
