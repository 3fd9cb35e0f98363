"""What was done to records when they were read, kept with the model that was learnt from them."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import final

from gpssm.data._errors import DataError

VERSION = 1
TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
"""Seconds in each unit that a column of time stamps may count."""

_UNIT = re.compile(r"(?P<name>.*\S)\s*(\[(?P<square>[^\[\]]*)\]|\((?P<round>[^()]*)\))", re.DOTALL)


@final
@dataclass(frozen=True)
class Recipe:
    """How records are read: columns, units, time, and what is mended on the way.

    Episodes carry the one that they were read by, and a model keeps that of its training records: raw files like these
    can be given to every command, and to `system.read` in Python.
    """

    outputs: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    time: str | None = None
    dt: float | None = None
    episode: str | None = None
    resample: float | None = None
    """A time step to which unevenly sampled records are brought: outputs by straight lines, inputs held."""
    time_unit: str | None = None
    """What the time stamps count; they become seconds. None leaves them as they are."""
    skip_rows: int = 0
    """Rows of words below the header of a text file; the first of them holds units."""
    hold_inputs: bool = False
    """Whether a missing input is taken to be the one before it."""
    drop_repeats: bool = False
    """Whether a row with the time stamp of the row before it is left out."""
    delimiter: str | None = None
    decimal: str = "."
    offsets: tuple[float, ...] = ()
    """What is subtracted from each output and then from each input; empty for nothing."""
    units: tuple[str, ...] = ()
    """Of each output and then of each input, where files tell them, else empty text; empty if no file told any."""
    clock: str = ""
    """The unit that files tell of the column of time stamps."""
    version: int = VERSION

    def __post_init__(self) -> None:
        """Refuse what no reader would make; files are read by this as well."""
        if self.version != VERSION:
            raise DataError(f"the recipe of its data has version {self.version}: a later gpssm wrote it")
        count = len(self.outputs) + len(self.inputs)
        if any(len(listed) not in (0, count) for listed in (self.offsets, self.units)):
            raise DataError("the recipe of its data has not one offset or unit for each channel")
        steps = [step for step in (self.dt, self.resample) if step is not None]
        if not all(math.isfinite(step) and step > 0.0 for step in steps) or not all(map(math.isfinite, self.offsets)):
            raise DataError("the recipe of its data has time steps or offsets that are no numbers")
        if self.skip_rows < 0 or self.time_unit not in (None, *TIME_UNITS) or self.decimal not in (".", ","):
            raise DataError("the recipe of its data has settings that no reader knows")

    __check_init__ = __post_init__

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        return (*self.outputs, *self.inputs, *(name for name in (self.time, self.episode) if name is not None))

    @property
    def units_by_name(self) -> dict[str, str]:
        """The units that are known."""
        return {name: unit for name, unit in zip((*self.outputs, *self.inputs), self.units, strict=False) if unit}

    @property
    def offsets_by_name(self) -> dict[str, float]:
        """The offsets other than zero."""
        listed = zip((*self.outputs, *self.inputs), self.offsets, strict=False)
        return {name: offset for name, offset in listed if offset}

    def facts(self) -> dict[str, object]:
        """What differs from reading plain columns, by name, for people and machines."""
        named = {"units": self.units_by_name, "offsets": self.offsets_by_name}
        said = {field.name: named.get(field.name, getattr(self, field.name)) for field in fields(self)}
        usual = {field.name: field.default for field in fields(self)} | {"units": {}, "offsets": {}}
        return {name: value for name, value in said.items() if value != usual[name]}


PREPARATION = ("resample", "time_unit", "hold_inputs", "drop_repeats", "offsets")
"""Settings that change the numbers of a record, and not only the way they are found."""


def common_recipe(recipes: Sequence[tuple[str, Recipe | None]]) -> tuple[str, Recipe] | None:
    """The recipe by which records for several models are read, and whose it is; None if none of them has one.

    Models whose records were prepared in different ways cannot see the same records, and are refused.
    """
    known = [(name, recipe) for name, recipe in recipes if recipe is not None]
    for name, recipe in known[1:]:
        first, theirs, ours = known[0][0], recipe.facts(), known[0][1].facts()
        for setting in PREPARATION:
            if theirs.get(setting) != ours.get(setting):
                raise DataError(
                    f"{name} was fitted to records read with {setting} {theirs.get(setting, 'none')}, and {first} with "
                    f"{ours.get(setting, 'none')}; they cannot see the same records: fit one of them anew"
                )
    return known[0] if known else None


def other_units(one: Recipe | None, other: Recipe | None) -> Iterator[tuple[str, str, str]]:
    """Channels that two recipes have in different units: name, the one unit, the other."""
    if one is None or other is None:
        return
    there = other.units_by_name
    for name, unit in one.units_by_name.items():
        if there.get(name, unit) != unit:
            yield name, unit, there[name]


def split_unit(name: str) -> tuple[str, str]:
    """`speed [rpm]` as `speed` and `rpm`; the unit is empty where the name has none."""
    found = _UNIT.fullmatch(name.strip())
    if found is None:
        return name.strip(), ""
    return found["name"], (found["square"] or found["round"] or "").strip()
