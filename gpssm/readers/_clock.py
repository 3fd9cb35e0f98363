"""A column of time stamps that nobody named: rows must not be taken as evenly spaced where it says otherwise."""

import logging

import numpy as np
from jaxtyping import Float64

from gpssm.data import DataError, Recipe
from gpssm.data._recipe import split_unit
from gpssm.readers._table import Table
from gpssm.readers._time import TOLERANCE, are_dates, check_rising, even_step, stamps

log = logging.getLogger("gpssm")

NAMES = ("t", "time", "times", "timestamp", "time stamp", "time_stamp", "zeit", "date", "datetime", "clock")
RISING = 0.8
"""A column called t may hold temperatures: of time stamps this share of the steps goes up, even where several records
stand below each other."""


def check_unused_clock(table: Table, recipe: Recipe) -> None:
    """Refuse rows that are not evenly spaced by a clock that is not used; warn where a given time step contradicts."""
    if recipe.time is not None or len(table) < 3:
        return
    for name in table.names:
        if name in recipe.columns or split_unit(name)[0] in recipe.columns:
            continue
        values = _readings(table, name)
        if values is not None:
            _compare(table, name, values, recipe.dt)


def looks_like_time(name: str) -> bool:
    """Whether a column has a name that loggers give to time."""
    return split_unit(name)[0].casefold() in NAMES


def _readings(table: Table, name: str) -> Float64[np.ndarray, " T"] | None:
    if not looks_like_time(name) and not are_dates(table.cells[table.names.index(name)]):
        return None
    try:
        values = stamps(table, name)
    except DataError:
        return None
    return values if np.mean(np.diff(values) > 0.0) >= RISING else None


def _compare(table: Table, name: str, values: Float64[np.ndarray, " T"], dt: float | None) -> None:
    try:
        check_rising(table, name, values)
        step = even_step(table, name, values)
    except DataError as error:
        reason = str(error).removeprefix(f"{table.source}: ").partition(";")[0].replace(" (time)", "")
        if dt is None:
            usual = float(np.median(np.diff(values)))
            raise DataError(
                f"{table.source}: rows are taken as evenly spaced, but {reason}; name the column with time='{name}' "
                f"(--time '{name}'), with resample={usual:g} (--resample {usual:g}) if stamps are uneven; if it is no "
                f"time, or the rows are even all the same, say so with dt= (--dt)"
            ) from error
        log.warning("%s: rows are taken as steps of %g, but %s", table.source, dt, reason)
        return
    if dt is not None and abs(step - dt) > TOLERANCE * dt:
        log.warning(
            "%s: rows are taken as steps of %g, but column '%s' advances by %g: is one of them wrong, or in another "
            "unit? time='%s' (--time '%s') reads the column",
            *(table.source, dt, name, step, name, name),
        )
