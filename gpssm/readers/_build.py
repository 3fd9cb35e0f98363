"""From tables and a recipe to episodes: the one place where all readers meet."""

import logging
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from jaxtyping import Float64

from gpssm.data import DataError, Episode, Episodes, Recipe
from gpssm.data._recipe import TIME_UNITS
from gpssm.readers._channels import input_values, output_values
from gpssm.readers._clock import check_unused_clock
from gpssm.readers._faults import Faults
from gpssm.readers._parts import parts
from gpssm.readers._resample import resampled
from gpssm.readers._table import Table, rows_of
from gpssm.readers._time import check_rising, even_step, repeat_fault, repeats, stamps
from gpssm.readers._units import Units

log = logging.getLogger("gpssm")

MOST_ROWS = 30.0
"""How many rows resampling may make of one, or one of how many, before that is said."""


def build(tables: Iterable[Table], recipe: Recipe, faults: Faults | None = None) -> Episodes:
    """One episode per table, or per value of the episode column. All faults are found before one is told; `faults`
    has those of tables that could not be read."""
    faults = Faults() if faults is None else faults
    episodes: list[Episode] = []
    units = Units(recipe)
    for table in tables:
        with faults.noted():
            units.note(table, faults)
            for name, part in parts(table, recipe.episode):
                episode = _episode(part, name, recipe, faults)
                episodes += [] if episode is None else [episode]
    faults.complain()
    _check_measured(episodes)
    used = replace(recipe, units=units.found, clock=units.clock)
    return Episodes(episode._replace(recipe=used) for episode in _with_common_step(episodes))


def input_rows(table: Table, recipe: Recipe) -> Float64[np.ndarray, "T P"]:
    """The inputs alone, for records of the future, whose outputs nobody knows. Their time stamps may be left out."""
    faults = Faults()
    Units(recipe).note(table, faults)
    time = None
    if recipe.time is not None and table.holds(recipe.time) and len(table) > 1:
        table, time = _in_time(table, recipe, faults)
    elif recipe.time is None:
        with faults.noted():
            check_unused_clock(table, recipe)
    u = input_values(table, recipe, faults)
    faults.complain()
    if time is not None and recipe.resample is not None:
        _, u, _ = resampled(time, np.zeros((len(time), 1)), u, recipe.resample, table.source)
    return u


def _episode(table: Table, name: str, recipe: Recipe, faults: Faults) -> Episode | None:
    """The record, or None where it has faults."""
    if len(table) < 2:
        place = f" ({table.where(0)})" if len(table) else ""
        faults.add(f"{name}: only {len(table)} row{place}; a record needs at least 2, better dozens: add samples")
        return None
    here = Faults()
    table, time = _in_time(table, recipe, here)
    y = output_values(table, recipe, here)
    u = input_values(table, recipe, here)
    with here.noted():
        check_unused_clock(table, recipe)
    dt = recipe.dt
    if time is not None and recipe.time is not None and not here:
        with here.noted():
            if recipe.resample is None:
                dt = even_step(table, recipe.time, time)
            else:
                y, u, dt = resampled(time, y, u, recipe.resample, name)
                _warn_of_scale(name, time, recipe.resample)
    if not here and not np.isfinite(y).any():
        columns = ", ".join(f"'{output}'" for output in recipe.outputs)
        here.add(f"{name}: no output was measured at all (column {columns} is empty on every line); leave it out")
    if here:
        faults.take(here)
        return None
    return Episode(y=y, u=u, dt=dt, name=name, output_names=recipe.outputs, input_names=recipe.inputs)


def _in_time(table: Table, recipe: Recipe, faults: Faults) -> tuple[Table, np.ndarray | None]:
    """The rows with rising stamps, and the stamps; None if there are none, or none that could be used."""
    if recipe.time is None:
        return table, None
    with faults.noted():
        told = table.unit(recipe.time)
        if recipe.time_unit is not None and told in TIME_UNITS and told != recipe.time_unit:
            raise DataError(
                f"{table.source}: column '{recipe.time}' (time) is in {told}, but time_unit is '{recipe.time_unit}' "
                f"(--time-unit {recipe.time_unit}); give the unit of the file"
            )
        time = stamps(table, recipe.time, recipe.time_unit)
        twice = repeats(time)
        if twice.any() and not recipe.drop_repeats:
            faults.add(repeat_fault(table, recipe.time, time))
        kept = np.flatnonzero(~twice)
        once, time = rows_of(table, kept), time[kept]
        check_rising(once, recipe.time, time)
        if len(time) < 2:
            raise DataError(f"{table.source}: only {len(time)} row has a time of its own; a record needs at least 2")
        if recipe.resample is None:
            # Also told where other faults keep the record from being built.
            even_step(once, recipe.time, time)
        return (once if recipe.drop_repeats else table), time
    return table, None


def _warn_of_scale(name: str, time: Float64[np.ndarray, " T"], step: float) -> None:
    """Milliseconds taken for seconds would become a thousand rows each, or one of a thousand."""
    rows = float(np.median(np.diff(time))) / step
    if not 1.0 / MOST_ROWS < rows < MOST_ROWS:
        much = f"{rows:.3g} rows are made of each" if rows > 1.0 else f"one row is kept of {1.0 / rows:.3g}"
        log.warning(
            "%s: with a step of %g %s: does its time count another unit? Say it with time_unit= (--time-unit)",
            *(name, step, much),
        )


def _with_common_step(episodes: list[Episode]) -> list[Episode]:
    """Steps that agree but for the rounding of time stamps become one; others are refused."""
    first = episodes[0]
    for other in episodes[1:]:
        if first.dt is None or other.dt is None or abs(first.dt - other.dt) <= 1e-3 * first.dt:
            continue
        raise DataError(
            f"{other.name}: its time step is {other.dt:g}, that of {first.name} is {first.dt:g}; "
            + _step_advice(first.dt, other.dt)
        )
    return [episode._replace(dt=first.dt) for episode in episodes]


def _step_advice(one: float, other: float) -> str:
    ratio = max(one, other) / min(one, other)
    for factor, words in ((1e3, "milliseconds and the other seconds"), (1e6, "microseconds"), (1e9, "nanoseconds")):
        if abs(ratio - factor) <= 1e-3 * factor:
            return (
                f"that is {factor:g} times as much: does one file count {words}? Convert that column, so that all "
                "files have one unit, and tell it with time_unit= (--time-unit)"
            )
    step = max(one, other)
    return f"bring all records to one step, as with resample={step:g} (--resample {step:g})"


def _check_measured(episodes: list[Episode]) -> None:
    for column, name in enumerate(episodes[0].output_names):
        if not any(episode.observed[:, column].any() for episode in episodes):
            files = ", ".join(episode.name for episode in episodes[:3]) + (", ..." if len(episodes) > 3 else "")
            raise DataError(f"{files}: column '{name}' (output) is empty on every line; leave it out of the outputs")
