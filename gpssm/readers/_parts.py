"""Several records in one table, told apart by a column."""

from collections.abc import Iterator

import numpy as np

from gpssm.data import DataError
from gpssm.readers._table import Table, rows_of


def parts(table: Table, episode: str | None) -> Iterator[tuple[str, Table]]:
    """Records told apart by a column; a value may not come back after another, for that would glue two stretches."""
    if episode is None:
        yield table.source, table
        return
    cells = table.column(episode, "episode")
    labels = [_label(cell) for cell in cells]
    finished: set[str] = set()
    start = 0
    for row in range(len(labels) + 1):
        if row < len(labels) and not labels[row]:
            raise DataError(
                f"{table.source}: column '{episode}' (episode), {table.where(row)}: the cell is empty; say to which "
                "record the row belongs"
            )
        if row < len(labels) and labels[row] == labels[start]:
            continue
        finished.add(labels[start])
        yield f"{table.source} [{episode}={labels[start]}]", rows_of(table, np.arange(start, row))
        start = row
        if row < len(labels) and labels[row] in finished:
            raise DataError(
                f"{table.source}: column '{episode}' (episode), {table.where(row)}: '{labels[row]}' comes back after "
                f"'{labels[row - 1]}'; sort the file so that the rows of a record stand together"
            )


def _label(cell: object) -> str:
    if cell is None or (isinstance(cell, float | np.floating) and np.isnan(cell)):
        return ""
    return str(cell).strip()
