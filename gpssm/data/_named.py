"""Channels that bring their names, and arrays that lie on their side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from ._errors import DataError, Numbers, numeric_columns

MANY = 6
"""From this many unnamed channels on, more channels than steps are taken for a transposed array."""


def named_columns(
    value: Numbers, names: Sequence[str] | None, *, what: str, where: str
) -> tuple[Float64[np.ndarray, "T C"], Sequence[str] | None]:
    """The columns as numbers, and their names. Those of a data frame or a named series are its own, and where names
    are given, too, columns are found by them: their order in the frame means nothing."""
    found = _names_of(value)
    if found is None:
        return numeric_columns(value, what=what, where=where), names
    if names is None or isinstance(names, str):
        return numeric_columns(value, what=what, where=where), names or found
    wanted = [str(name) for name in names]
    # A single column cannot be mistaken for another: it is renamed.
    if len(wanted) == len(found) > 1 and sorted(wanted) != sorted(found):
        raise DataError(
            f"{where}: {what} is a frame with the columns {', '.join(found)}, but is said to hold {', '.join(wanted)}; "
            f"choose columns by name, or rename them in the frame"
        )
    array = numeric_columns(value, what=what, where=where)
    return (array[:, [found.index(name) for name in wanted]] if sorted(wanted) == sorted(found) else array), wanted


def _names_of(value: Any) -> list[str] | None:
    """The names that columns have of themselves. Numbered columns and nameless series have none."""
    columns = getattr(value, "columns", None)
    if columns is not None:
        given = list(columns)
    elif hasattr(value, "to_numpy") and isinstance(getattr(value, "name", None), str):
        given = [value.name]
    else:
        return None
    if not given or given == list(range(len(given))) or given == [""]:
        return None
    return [str(name) for name in given]


def check_not_transposed(
    array: Float64[np.ndarray, "T C"], names: Sequence[str] | None, *, what: str, where: str
) -> None:
    """Refuse one step of sixty channels, which nobody meant; whoever does mean it names the channels."""
    steps, channels = array.shape
    if names is None and channels >= MANY and channels > steps:
        kind = "output" if what == "y" else "input"
        raise DataError(
            f"{where}: {what} has {steps} step{'s' if steps > 1 else ''} and {channels} {kind}s (shape {array.shape}); "
            f"time runs down the rows: pass {what}.T, or {kind}_names if there are really so many channels"
        )
