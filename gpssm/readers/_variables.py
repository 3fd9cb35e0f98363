"""Named arrays, as NPZ and MAT files hold them, side by side in a table."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from gpssm.data import DataError
from gpssm.readers._table import Table, suggest


def holders(known: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """The variables that hold the wanted columns: `y` holds y0 and y1 unless these are variables themselves."""
    names = set(known)
    found = (name if name in names else name.rstrip("0123456789") for name in wanted)
    return [name for name in dict.fromkeys(found) if name in names]


def table_of(variables: Mapping[str, Any], wanted: Iterable[str], shown: str, known: tuple[str, ...]) -> Table:
    """The wanted variables side by side. A matrix `y` of three columns is asked for as y0, y1, y2.

    `known` are the names of all variables of the file, from which another one may have been meant.
    """
    columns: dict[str, np.ndarray] = {}
    spread: dict[str, str] = {}
    for name, value in variables.items():
        array: np.ndarray[Any, Any] = np.asarray(value)
        if array.ndim == 2 and 1 in array.shape:
            array = array.reshape(-1)
        if array.ndim == 2:
            parts = {f"{name}{i}": part for i, part in enumerate(array.T)}
            spread[name] = f"{name}0 to {name}{len(parts) - 1}"
            columns = parts | columns
        else:
            columns[name] = array
    names = list(wanted)
    for name in names:
        if name in spread:
            raise DataError(f"{shown}: variable '{name}' is a matrix; ask for its columns, {spread[name]}")
        if name not in columns:
            others = (*columns, *(other for other in known if other not in variables))
            raise DataError(f"{shown}: there is no variable '{name}'; {suggest(name, others)}")
        if columns[name].ndim != 1:
            raise DataError(
                f"{shown}: variable '{name}' has shape {np.shape(variables[name])}; it must be a vector with one entry "
                "per sample: store it as one"
            )
    lengths = {name: len(columns[name]) for name in names}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"'{name}' has {length}" for name, length in lengths.items())
        raise DataError(f"{shown}: the variables differ in length ({listed}); cut them to the stretch they share")
    length = next(iter(lengths.values()), 0)
    if length == 0:
        raise DataError(f"{shown}: the variables {', '.join(names)} are empty; add the samples")
    cells = tuple(_plain(columns[name]) for name in names)
    return Table(shown, tuple(names), cells, np.arange(1, length + 1), place="row")


def _plain(values: np.ndarray) -> np.ndarray:
    return values.astype(object) if values.dtype.kind in "US" else values
