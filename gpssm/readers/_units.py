"""Units that files tell, in a row below the header or in the names of columns."""

from gpssm.data import Recipe
from gpssm.readers._faults import Faults
from gpssm.readers._table import Table


class Units:
    """What is known so far of each channel's unit, and who said so."""

    def __init__(self, recipe: Recipe) -> None:
        names = (*recipe.outputs, *recipe.inputs)
        told = recipe.units or ("",) * len(names)
        self._units = dict(zip(names, told, strict=True))
        self._sources = dict.fromkeys(names, "the records of the fit")

    @property
    def found(self) -> tuple[str, ...]:
        """One for each channel, or nothing if none is known."""
        return tuple(self._units.values()) if any(self._units.values()) else ()

    def note(self, table: Table, faults: Faults) -> None:
        """Keep what the table tells; a unit that differs from what was told before is a fault."""
        for name, known in self._units.items():
            unit = table.unit(name)
            if unit and known and unit != known:
                faults.add(
                    f"{table.source}: column '{name}' is in {unit}, but in {self._sources[name]} it is in {known}; "
                    f"convert it to {known}"
                )
            elif unit and not known:
                self._units[name], self._sources[name] = unit, table.source
