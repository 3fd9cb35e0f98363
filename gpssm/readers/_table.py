"""A table as it was found in a file or a data frame: named columns of text or numbers, and where each row stands."""

import difflib
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64, Int, Shaped

from gpssm.data import DataError
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

    def __len__(self) -> int:
        return len(self.places)

    def where(self, row: int) -> str:
        """`line 17`, for a row of the table."""
        return f"{self.place} {self.places[row]}"

    def column(self, name: str, role: str) -> Shaped[np.ndarray, " T"]:
        """The cells of a column, or a complaint that lists the columns there are."""
        positions = [i for i, found in enumerate(self.names) if found == name]
        if len(positions) == 1:
            return self.cells[positions[0]]
        if positions:
            raise DataError(
                f"{self.source}: {len(positions)} columns are called '{name}' (columns "
                f"{', '.join(str(i + 1) for i in positions)}), so the {role} is ambiguous; rename all but one in "
                "the header"
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
    return Table(
        source=table.source,
        names=table.names,
        cells=tuple(cells[rows] for cells in table.cells),
        places=table.places[rows],
        place=table.place,
        numbers=table.numbers,
    )
