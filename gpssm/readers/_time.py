"""Time stamps: numbers or dates, that must rise evenly."""

import logging
import re
from datetime import datetime

import numpy as np
from jaxtyping import Bool, Float64, Shaped

from gpssm.data import DataError
from gpssm.data._recipe import TIME_UNITS
from gpssm.readers._numbers import parse_numbers
from gpssm.readers._table import Table

log = logging.getLogger("gpssm")

_INTEGER = re.compile(r"[+-]?\d{1,30}", re.ASCII)
TOLERANCE = 0.1
"""How far a step may be from the average one, as a share of it: rounding of printed stamps, but no lost sample."""


def stamps(table: Table, name: str, unit: str | None = None) -> Float64[np.ndarray, " T"]:
    """The column of time stamps in its own unit, or in seconds if `unit` says what it counts; dates in seconds since
    the first, and whole numbers that a float would round counted from the first as well."""
    cells = table.column(name, "time")
    if unit is not None and are_dates(cells):
        raise DataError(f"{table.source}: column '{name}' (time) holds dates; leave time_unit= (--time-unit) out")
    values = _stamps(table, name, cells, told=unit is not None)
    return values if unit is None else values * TIME_UNITS[unit]


def _stamps(table: Table, name: str, cells: Shaped[np.ndarray, " T"], *, told: bool) -> Float64[np.ndarray, " T"]:
    whole = _whole(cells)
    if whole is not None:
        if not told:
            _tell_unit(table, name, abs(whole[0]))
        # A float has 53 bits and nanoseconds since 1970 have 61: what counts is the time since the first.
        far = any(abs(stamp) >= 2**53 for stamp in whole)
        values = np.array([stamp - whole[0] if far else stamp for stamp in whole], dtype=np.float64)
    elif are_dates(cells):
        values = _dates(cells, table, name)
    else:
        values = parse_numbers(cells, table, name, "time")
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        raise DataError(
            f"{table.source}: column '{name}' (time), {table.where(int(row))}: the time stamp is missing or infinite; "
            "fill it in, or leave the time out and give dt= (--dt)"
        )
    return values


def _whole(cells: Shaped[np.ndarray, " T"]) -> list[int] | None:
    """The stamps, if all of them are whole numbers, without rounding."""
    if cells.dtype.kind in "iu":
        return [int(cell) for cell in cells] or None
    if cells.dtype.kind != "O" or not len(cells):
        return None
    texts = [cell.strip() if isinstance(cell, str) else str(cell) if type(cell) is int else "" for cell in cells]
    return [int(text) for text in texts] if all(_INTEGER.fullmatch(text) for text in texts) else None


def _tell_unit(table: Table, name: str, stamp: int) -> None:
    for unit, short, second in (
        ("nanoseconds", "ns", 10**9),
        ("microseconds", "us", 10**6),
        ("milliseconds", "ms", 10**3),
    ):
        if 10**9 * second <= stamp < 10**10 * second:
            log.warning(
                "%s: column '%s' (time) seems to count %s since 1970, and the time step is in %s too; for seconds say "
                "time_unit='%s' (--time-unit %s)",
                *(table.source, name, unit, unit, short, short),
            )


def repeats(values: Float64[np.ndarray, " T"]) -> Bool[np.ndarray, " T"]:
    """The rows whose stamp is that of the row before."""
    return np.concatenate([[False], np.diff(values) == 0.0])


def repeat_fault(table: Table, name: str, values: Float64[np.ndarray, " T"]) -> str:
    """Where stamps repeat."""
    rows = np.flatnonzero(repeats(values))
    more = f" ({len(rows) - 1} more such rows)" if len(rows) > 1 else ""
    row = int(rows[0])
    return (
        f"{table.source}: column '{name}' (time), {table.where(row)}: the time repeats {values[row]:g} (after "
        f"{values[row - 1]:g} on {table.where(row - 1)}){more}; keep the first row of each time with drop_repeats=True "
        "(--drop-repeats), or name the column that tells records apart with episode= (--episode)"
    )


def check_rising(table: Table, name: str, values: Float64[np.ndarray, " T"]) -> None:
    """Refuse stamps that go back."""
    steps = np.diff(values)
    rows = np.flatnonzero(steps < 0.0)
    if len(rows):
        row = int(rows[0])
        more = f" ({len(rows) - 1} more such places)" if len(rows) > 1 else ""
        raise DataError(
            f"{table.source}: column '{name}' (time), {table.where(row + 1)}: the time goes back to "
            f"{values[row + 1]:g} (after {values[row]:g} on {table.where(row)}){more}; sort the rows by time, or name "
            "the column that tells records apart with episode= (--episode)"
        )


def even_step(table: Table, name: str, values: Float64[np.ndarray, " T"]) -> float:
    """The time step of evenly spaced stamps; others are refused with the place where they are uneven."""
    steps = np.diff(values)
    usual = float(np.median(steps))
    uneven = np.flatnonzero(np.abs(steps - usual) > TOLERANCE * usual)
    if len(uneven) == 0:
        # Printed stamps are rounded; more digits than these would only tell of that.
        return float(f"{(values[-1] - values[0]) / len(steps):.9g}")
    row = int(uneven[0])
    share = steps[row] / usual
    lost = round(share) - 1
    gap = abs(share - round(share)) <= TOLERANCE and lost >= 1
    reason = f": {lost} {'sample is' if lost == 1 else 'samples are'} missing there" if gap else ""
    more = f" ({len(uneven)} such places in all)" if len(uneven) > 1 else ""
    raise DataError(
        f"{table.source}: column '{name}' (time): from {table.where(row)} to {table.where(row + 1)} the time "
        "advances by "
        f"{steps[row]:g}, elsewhere by {usual:g}{reason}{more}; insert the missing rows with empty outputs, cut the "
        f"record there, or bring it to an even step with resample={usual:g} (--resample {usual:g})"
    )


def are_dates(cells: Shaped[np.ndarray, " T"]) -> bool:
    """Whether a column holds dates."""
    if cells.dtype.kind == "M":
        return True
    return len(cells) > 0 and (
        isinstance(cells[0], datetime) or (isinstance(cells[0], str) and _date(cells[0]) is not None)
    )


def _date(cell: object) -> datetime | None:
    if isinstance(cell, datetime):
        return cell
    # A plain year or an all-digit date would also pass as a number, and is taken as one.
    if not isinstance(cell, str) or "-" not in cell.strip()[1:] or "e" in cell.casefold():
        return None
    try:
        return datetime.fromisoformat(cell.strip())
    except ValueError:
        return None


def _dates(cells: Shaped[np.ndarray, " T"], table: Table, name: str) -> Float64[np.ndarray, " T"]:
    if cells.dtype.kind == "M":
        seconds = (cells - cells[0]) / np.timedelta64(1, "s")
        return np.asarray(seconds, dtype=np.float64)
    first = _date(cells[0])
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        date = _date(cell)
        if date is None or first is None or (date.tzinfo is None) != (first.tzinfo is None):
            raise DataError(
                f"{table.source}: column '{name}' (time), {table.where(row)}: {cell!r} is not a date like "
                f"{cells[0]!r}; "
                "write all time stamps in one way"
            )
        values[row] = (date - first).total_seconds()
    return values
