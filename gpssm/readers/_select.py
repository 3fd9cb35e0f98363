"""Which columns play which part, and what is refused before a single cell is read."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gpssm.data import DataError, Recipe
from gpssm.data._recipe import TIME_UNITS
from gpssm.readers._csv import CsvFormat

Names = str | int | Iterable[Any]
"""One column or several. Frames may number their columns, or call them by tuples; other names than text are compared as
they are printed."""


def select(
    *,
    outputs: Names | None = None,
    inputs: Names | None = None,
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    resample: float | int | None = None,
    time_unit: str | None = None,
    skip_rows: int | None = None,
    hold_inputs: bool | None = None,
    drop_repeats: bool | None = None,
    offsets: Mapping[str, float | int] | None = None,
    style: CsvFormat | None = None,
    recipe: Recipe | None = None,
) -> Recipe:
    """A checked recipe: what is given, and for the rest what `recipe` says, or nothing. Empty text takes the time or
    the episode column of a recipe away."""
    if time and dt is not None:
        raise DataError("both time= and dt= are given; name the column of time stamps or the time step, not both")
    if recipe is None:
        if outputs is None:
            raise DataError("no outputs are named; say which columns were measured, with outputs= (--outputs)")
        chosen = Recipe(outputs=name_list(outputs), inputs=name_list(() if inputs is None else inputs))
    else:
        chosen = recipe
        if outputs is not None or inputs is not None:
            raise DataError("the columns are those of the model: leave outputs= and inputs= out, or fit another model")
    if dt is not None or time == "":
        # Rows that are evenly spaced need no stamps, and are not resampled.
        chosen = replace(chosen, time=None, resample=None, time_unit=None, drop_repeats=False, clock="")
    changes: dict[str, Any] = {
        "time": None if time is None else str(time) or None,
        "dt": _positive(dt, "dt"),
        "episode": None if episode is None else str(episode),
        "resample": _positive(resample, "resample"),
        "time_unit": time_unit,
        "skip_rows": _count(skip_rows),
        "hold_inputs": hold_inputs,
        "drop_repeats": drop_repeats,
        "delimiter": None if style is None else style.delimiter,
        "decimal": None if style is None else style.decimal,
    }
    if changes["time"] is not None:
        chosen = replace(chosen, dt=None, clock=chosen.clock if changes["time"] == chosen.time else "")
    if time_unit is not None and time_unit != chosen.time_unit:
        _check_seconds(chosen)
        chosen = replace(chosen, clock="")  # what a file tells is compared with the unit that is given
    chosen = replace(chosen, **_checked({name: value for name, value in changes.items() if value is not None}))
    chosen = replace(chosen, episode=chosen.episode or None)
    if offsets is not None:
        chosen = replace(chosen, offsets=_offsets(chosen, offsets))
    _check_parts(chosen)
    return chosen


def style_of(recipe: Recipe) -> CsvFormat:
    """How text files are written."""
    return CsvFormat(recipe.delimiter, recipe.decimal)


def name_list(names: Names) -> tuple[str, ...]:
    """Names as text, one or several."""
    return (str(names),) if isinstance(names, str | int) else tuple(str(name) for name in names)


def _checked(changes: dict[str, Any]) -> dict[str, Any]:
    unit = changes.get("time_unit")
    if unit is not None and unit not in TIME_UNITS:
        raise DataError(f"time_unit is {unit!r} (--time-unit); it is one of {', '.join(TIME_UNITS)}")
    return changes


def _check_seconds(recipe: Recipe) -> None:
    """A unit that is given makes seconds of all stamps, which must be what the model counts already."""
    if recipe.time_unit is None and recipe.clock not in ("", "s"):
        raise DataError(
            f"the records of the fit count time in {recipe.clock}, and so does the model; time_unit= (--time-unit) "
            f"would make seconds of it: leave it out, and convert the stamps to {recipe.clock}"
        )


def _check_parts(chosen: Recipe) -> None:
    if not chosen.outputs:
        raise DataError("no outputs are named; say which columns were measured, with outputs= (--outputs)")
    parts = [("output", name) for name in chosen.outputs] + [("input", name) for name in chosen.inputs]
    parts += [(what, name) for what, name in (("time", chosen.time), ("episode", chosen.episode)) if name is not None]
    seen: dict[str, str] = {}
    for part, name in parts:
        if not name.strip():
            raise DataError(f"the name of an {part} is empty; name a column of the header")
        if name in seen:
            both = f"{part} twice" if seen[name] == part else f"{seen[name]} and as {part}"
            raise DataError(f"column '{name}' is used as {both}; a column has one part to play")
        seen[name] = part
    for value, what in ((chosen.resample, "resample"), (chosen.time_unit, "time-unit")):
        if value is not None and chosen.time is None:
            raise DataError(f"{what.replace('-', '_')}= (--{what}) needs the column of time stamps, time= (--time)")
    if chosen.drop_repeats and chosen.time is None:
        raise DataError("drop_repeats= (--drop-repeats) needs the column of time stamps, time= (--time)")


def _offsets(chosen: Recipe, offsets: Mapping[str, float | int]) -> tuple[float, ...]:
    names = (*chosen.outputs, *chosen.inputs)
    unknown = [name for name in offsets if name not in names]
    if unknown:
        raise DataError(f"an offset is given for '{unknown[0]}', which is no channel; they are {', '.join(names)}")
    for name, value in offsets.items():
        if isinstance(value, str | bytes | bool) or not math.isfinite(float(value)):
            raise DataError(f"the offset of '{name}' is {value!r}; it must be a finite number")
    return tuple(float(offsets.get(name, 0.0)) for name in names) if any(offsets.values()) else ()


def _positive(value: float | int | None, what: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, str | bytes | bool):
        raise DataError(f"{what} is {value!r}, which is not a number; pass the time between two samples, such as 0.1")
    if not 0.0 < float(value) < float("inf"):
        raise DataError(f"{what} is {value}; the time between two samples must be positive and finite")
    return float(value)


def _count(value: int | None) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise DataError(f"skip_rows is {value!r} (--skip-rows); write how many rows of words stand below the header")
    return value
