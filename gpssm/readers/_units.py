"""Units that files tell, in a row below the header or in the names of columns."""

from gpssm.data import Recipe
from gpssm.data._recipe import TIME_UNITS
from gpssm.readers._faults import Faults
from gpssm.readers._table import Table


class Units:
    """What is known so far of each channel's unit, and who said so."""

    def __init__(self, recipe: Recipe) -> None:
        names = (*recipe.outputs, *recipe.inputs)
        told = recipe.units or ("",) * len(names)
        self._channels, self._time = names, recipe.time
        self._units = dict(zip(names, told, strict=True))
        if recipe.time is not None:
            self._units[recipe.time] = recipe.clock
        self._in_seconds = recipe.time_unit is not None or recipe.clock == "s"
        self._sources = dict.fromkeys(self._units, "the records of the fit")

    @property
    def found(self) -> tuple[str, ...]:
        """One for each channel, or nothing if none is known."""
        units = tuple(self._units[name] for name in self._channels)
        return units if any(units) else ()

    @property
    def clock(self) -> str:
        """That of the time stamps."""
        return "" if self._time is None else self._units[self._time]

    def _flag(self, name: str, unit: str) -> str:
        """What reads stamps in another unit, where they are to be seconds."""
        able = name == self._time and self._in_seconds and unit in TIME_UNITS
        return f", or say what it counts with time_unit='{unit}' (--time-unit {unit})" if able else ""

    def note(self, table: Table, faults: Faults) -> None:
        """Keep what the table tells; a unit that differs from what was told before is a fault."""
        for name, known in self._units.items():
            unit = table.unit(name)
            if unit and known and unit != known:
                faults.add(
                    f"{table.source}: column '{name}' is in {unit}, but in {self._sources[name]} it is in {known}; "
                    f"convert it to {known}{self._flag(name, unit)}"
                )
            elif unit and not known:
                self._units[name], self._sources[name] = unit, table.source
