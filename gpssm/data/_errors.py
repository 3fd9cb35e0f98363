"""What can be wrong with a user's arrays, said precisely: which record, which column, which row, and what to do."""

from collections.abc import Sequence
from typing import Any, TypeAlias, final

import numpy as np
from jaxtyping import Bool, Float64, Shaped
from numpy.typing import ArrayLike

# What users pass as arrays. Checked at run time, NumPy's own alias rejects tuples, which NumPy accepts.
Numbers: TypeAlias = ArrayLike | tuple[Any, ...]

# Beyond this a square still fits in a float64, and nothing that was measured is this large.
LARGEST_VALUE = 1e100


@final
class DataError(ValueError):
    """The data cannot be used as they are; the message says where the trouble is and how to mend it."""


def numeric_columns(value: Numbers, *, what: str, where: str) -> Float64[np.ndarray, "T C"]:
    """A float64 copy of `value` with time along the rows; a 1-D array becomes one column."""
    array = real_array(value, what=what, where=where)
    if array.ndim == 1:
        return array[:, None]
    if array.ndim != 2:
        fix = "for several records pass a list of arrays to Episodes.from_arrays" if array.ndim > 2 else "pass an array"
        raise DataError(
            f"{where}: {what} has {array.ndim} dimensions (shape {array.shape}) but must be (time, channels); {fix}"
        )
    return array


def real_array(value: Numbers | float | int, *, what: str, where: str) -> Float64[np.ndarray, "..."]:
    """A float64 copy of `value`, whatever its shape."""
    if isinstance(value, np.ma.MaskedArray):
        raise DataError(
            f"{where}: {what} is a numpy masked array, whose mask would be lost; "
            f"pass {what}.astype(float).filled(np.nan), in which NaN means missing"
        )
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise DataError(f"{where}: {what} is not an array of numbers with rows of equal length ({error})") from error
    if array.dtype.kind == "c":
        raise DataError(f"{where}: {what} is complex; pass real numbers, such as real and imaginary parts as columns")
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"{where}: {what} has dtype {array.dtype}, which is not numeric{_first_non_number(array)}; "
            f"convert it to numbers, as in np.asarray({what}, dtype=float)"
        )
    # A value too large for float64 becomes infinite here and is reported by the checks on the entries.
    with np.errstate(over="ignore"):
        return np.array(array, dtype=np.float64, order="C")


def _first_non_number(array: Shaped[np.ndarray, "..."]) -> str:
    for position, entry in np.ndenumerate(array):
        if not isinstance(entry, int | float | np.integer | np.floating):
            return f" (first at {_position(position)}: {entry!r})"
    return ""


def _position(position: tuple[int, ...]) -> str:
    names = ("row", "column")
    return ", ".join(f"{name} {index}" for name, index in zip(names, position, strict=False)) or "the only entry"


def check_entries(
    values: Float64[np.ndarray, "*T C"],
    *,
    used: Bool[np.ndarray, "*T C"],
    what: str,
    names: Sequence[str],
    where: str,
    if_nan: str,
) -> None:
    """Complain about the first entry that is used and is NaN, infinite or absurdly large.

    `if_nan` says how to mend a missing value.
    """
    for kind, bad, fix in (
        ("NaN", np.isnan(values), if_nan),
        ("infinite", np.isinf(values), f"correct it; {if_nan}"),
        ("larger than 1e100 in size", np.abs(values) > LARGEST_VALUE, f"if it stands for a missing value, {if_nan}"),
    ):
        positions = np.argwhere(bad & used)
        if len(positions) > 0:
            *row, column = (int(i) for i in positions[0])
            at_row = f" at row {', '.join(map(str, row))}" if row else ""
            more = f" (and {len(positions) - 1} more such entries)" if len(positions) > 1 else ""
            raise DataError(f"{where}: {what} '{names[column]}' (column {column}) is {kind}{at_row}{more}; {fix}")
