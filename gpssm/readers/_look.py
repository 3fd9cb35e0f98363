"""What files hold, for somebody who does not know yet which columns to name."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpssm.data import DataError
from gpssm.readers._clock import looks_like_time
from gpssm.readers._csv import CsvFormat
from gpssm.readers._mat import mat_names, mat_table
from gpssm.readers._npz import npz_names, npz_table
from gpssm.readers._read import any_table
from gpssm.readers._table import Table
from gpssm.readers._time import are_dates


@dataclass(frozen=True)
class Seen:
    """One column of a file."""

    name: str
    unit: str
    kind: str
    """numbers, dates, words, nothing, or why it cannot be a channel."""
    missing: int = 0
    low: float | None = None
    high: float | None = None
    time: bool = False
    """Whether it looks like time stamps."""


@dataclass(frozen=True)
class Contents:
    """One file: its rows and columns, or why it cannot be read."""

    source: str
    rows: int
    columns: tuple[Seen, ...]
    fault: str | None = None


def look(paths: Iterable[Path], style: CsvFormat, skip: int = 0) -> list[Contents]:
    """What each file holds. Nothing is refused: a file that cannot be read says why."""
    return [_contents(path, style, skip) for path in paths]


def _contents(path: Path, style: CsvFormat, skip: int) -> Contents:
    shown, suffix = str(path), path.suffix.lower()
    try:
        if suffix == ".npz":
            return _variables(shown, npz_names(path, shown), lambda name: npz_table(path, (name,), shown))
        if suffix == ".mat":
            return _variables(shown, mat_names(path, shown), lambda name: mat_table(path, (name,), shown))
        table = any_table(path, (), style, skip)
    except DataError as error:
        return Contents(shown, 0, (), str(error))
    return Contents(shown, len(table), tuple(_seen(table, i) for i in range(len(table.names))))


def _variables(shown: str, names: tuple[str, ...], read) -> Contents:
    columns, rows = [], 0
    for name in names:
        try:
            table: Table = read(name)
        except DataError as error:
            columns.append(Seen(name, "", str(error).removeprefix(f"{shown}: variable '{name}' ")))
            continue
        rows = max(rows, len(table))
        columns.append(_seen(table, 0))
    return Contents(shown, rows, tuple(columns))


def _seen(table: Table, position: int) -> Seen:
    name, cells = table.names[position], table.cells[position]
    unit, time = table.unit(name), looks_like_time(name)
    if are_dates(cells):
        return Seen(name, unit, "dates", time=True)
    try:
        values = table.values(name, "column")
    except DataError:
        return Seen(name, unit, "words")
    known = values[np.isfinite(values)]
    if not len(known):
        return Seen(name, unit, "nothing", len(values))
    rising = len(known) > 2 and bool(np.mean(np.diff(known) > 0.0) > 0.8)
    return Seen(
        name, unit, "numbers", len(values) - len(known), float(known.min()), float(known.max()), time and rising
    )
