"""A table as it was found in a file or a data frame: named columns of text or numbers, and where each row stands."""

import difflib
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64, Int, Shaped

from gpssm.data import DataError
from gpssm.data._recipe import split_unit
from gpssm.readers._numbers import NumberFormat, parse_numbers


@dataclass(frozen=True)
class Table:
    """Columns of equal length. Cells stay as they are until a column is asked for, so that columns nobody uses may
    hold anything."""

    source: str
    """File or object, as the user knows it."""
    names: tuple[str, ...]
    cells: tuple[Shaped[np.ndarray, " T"], ...]
    """One array per name: text as objects, or numbers."""
    places: Int[np.ndarray, " T"]
    """Where each row stands: the line in the file as an editor counts, or the row of the frame."""
    place: str = "line"
    """What `places` counts."""
    numbers: NumberFormat = field(default_factory=NumberFormat)
    units: tuple[str, ...] = ()
    """One for each name, if the source has a row of them; else they may stand in the names."""

    def __len__(self) -> int:
        return len(self.places)

    def where(self, row: int) -> str:
        """`line 17`, for a row of the table."""
        return f"{self.place} {self.places[row]}"

    def column(self, name: str, role: str) -> Shaped[np.ndarray, " T"]:
        """The cells of a column, or a complaint that lists the columns there are."""
        return self.cells[self._position(name, role)]

    def unit(self, name: str) -> str:
        """The unit of a column, empty where the source does not tell."""
        positions = self._positions(name)
        if len(positions) != 1:
            return ""
        position = positions[0]
        told = self.units[position].strip() if self.units else ""
        return told.strip("[]()").strip() or split_unit(self.names[position])[1]

    def holds(self, name: str) -> bool:
        """Whether there is such a column."""
        return bool(self._positions(name))

    def _positions(self, name: str) -> list[int]:
        """Where columns of this name stand; `speed` finds `speed [rpm]`, whose unit is then known."""
        exact = [i for i, found in enumerate(self.names) if found == name]
        return exact or [i for i, found in enumerate(self.names) if split_unit(found)[0] == name]

    def _position(self, name: str, role: str) -> int:
        positions = self._positions(name)
        if len(positions) == 1:
            return positions[0]
        if positions:
            called = sorted({self.names[i] for i in positions})
            listed = ", ".join(str(i + 1) for i in positions)
            fix = "rename all but one in the header" if len(called) == 1 else f"choose among {', '.join(called)}"
            raise DataError(
                f"{self.source}: {len(positions)} columns are called '{name}' (columns {listed}), so the {role} is "
                f"ambiguous; {fix}"
            )
        bare, unit = split_unit(name)
        for found in self.names:
            if unit and split_unit(found)[0] == bare and split_unit(found)[1]:
                raise DataError(
                    f"{self.source}: there is no column '{name}' for the {role}, but '{found}', in another unit; "
                    f"convert it to {unit} and rename it"
                )
        raise DataError(f"{self.source}: there is no column '{name}' for the {role}; {suggest(name, self.names)}")

    def values(self, name: str, role: str) -> Float64[np.ndarray, " T"]:
        """A column as numbers, NaN where a cell is empty; anything else that is not a number is refused."""
        return parse_numbers(self.column(name, role), self, name, role)


def suggest(name: str, names: tuple[str, ...]) -> str:
    """What the user may have meant."""
    known = [found for found in names if found]
    folded = {found.casefold(): found for found in known}
    near = difflib.get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.5)
    listed = ", ".join(f"'{found}'" for found in known[:30]) + (", ..." if len(known) > 30 else "")
    columns = f"the columns are {listed}" if known else "it has no named columns"
    return f"did you mean '{folded[near[0]]}'? {columns}" if near else f"choose among them: {columns}"


def rows_of(table: Table, rows: np.ndarray) -> Table:
    """The same table with some of its rows."""
    return replace(table, cells=tuple(cells[rows] for cells in table.cells), places=table.places[rows])
