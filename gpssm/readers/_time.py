"""Time stamps: numbers or dates, that must rise evenly."""

from datetime import datetime

import numpy as np
from jaxtyping import Float64, Shaped

from gpssm.data import DataError
from gpssm.readers._numbers import parse_numbers
from gpssm.readers._table import Table

TOLERANCE = 0.1
"""How far a step may be from the average one, as a share of it: rounding of printed stamps, but no lost sample."""


def stamps(table: Table, name: str) -> Float64[np.ndarray, " T"]:
    """The column of time stamps in its own unit, dates in seconds since the first."""
    cells = table.column(name, "time")
    values = _dates(cells, table, name) if _are_dates(cells) else parse_numbers(cells, table, name, "time")
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        raise DataError(
            f"{table.source}: column '{name}' (time), {table.where(int(row))}: the time stamp is missing or infinite; "
            "fill it in, or leave the time out and give dt= (--dt)"
        )
    return values


def check_rising(table: Table, name: str, values: Float64[np.ndarray, " T"]) -> None:
    """Refuse stamps that repeat or go back."""
    steps = np.diff(values)
    for row in np.flatnonzero(steps <= 0.0)[:1]:
        what = "repeats" if steps[row] == 0.0 else "goes back to"
        raise DataError(
            f"{table.source}: column '{name}' (time), {table.where(int(row) + 1)}: the time {what} {values[row + 1]:g} "
            f"(after {values[row]:g} on {table.where(int(row))}); sort the rows by time and remove repeated ones, or "
            "name the column that tells records apart with episode= (--episode)"
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


def _are_dates(cells: Shaped[np.ndarray, " T"]) -> bool:
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
