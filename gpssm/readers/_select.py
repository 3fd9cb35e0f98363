"""Which columns play which part, and what is refused before a single cell is read."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpssm.data import DataError

Names = str | int | Iterable[Any]
"""One column or several. Frames may number their columns, or call them by tuples; other names than text are compared as
they are printed."""


@dataclass(frozen=True)
class Selection:
    """The columns to read, and what is known about time."""

    outputs: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    time: str | None = None
    dt: float | None = None
    episode: str | None = None
    resample: float | None = None
    """A time step to which unevenly sampled records are brought: outputs by straight lines, inputs held."""


def select(
    *,
    outputs: Names,
    inputs: Names = (),
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    resample: float | int | None = None,
) -> Selection:
    """A checked selection."""
    time, episode = (None if name is None else str(name) for name in (time, episode))
    chosen = Selection(
        name_list(outputs), name_list(inputs), time, _positive(dt, "dt"), episode, _positive(resample, "resample")
    )
    if not chosen.outputs:
        raise DataError("no outputs are named; say which columns were measured, with outputs= (--outputs)")
    parts = [("output", name) for name in chosen.outputs] + [("input", name) for name in chosen.inputs]
    parts += [(what, name) for what, name in (("time", time), ("episode", episode)) if name is not None]
    seen: dict[str, str] = {}
    for part, name in parts:
        if not name.strip():
            raise DataError(f"the name of an {part} is empty; name a column of the header")
        if name in seen:
            both = f"{part} twice" if seen[name] == part else f"{seen[name]} and as {part}"
            raise DataError(f"column '{name}' is used as {both}; a column has one part to play")
        seen[name] = part
    if time is not None and dt is not None:
        raise DataError("both time= and dt= are given; name the column of time stamps or the time step, not both")
    if resample is not None and time is None:
        raise DataError("resample= needs the column of time stamps, time= (--time)")
    return chosen


def name_list(names: Names) -> tuple[str, ...]:
    """Names as text, one or several."""
    return (str(names),) if isinstance(names, str | int) else tuple(str(name) for name in names)


def _positive(value: float | int | None, what: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, str | bytes | bool):
        raise DataError(f"{what} is {value!r}, which is not a number; pass the time between two samples, such as 0.1")
    if not 0.0 < float(value) < float("inf"):
        raise DataError(f"{what} is {value}; the time between two samples must be positive and finite")
    return float(value)
