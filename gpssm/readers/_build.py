"""From tables and a selection of columns to episodes: the one place where all readers meet."""

from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Float64

from gpssm.data import DataError, Episode, Episodes
from gpssm.data._errors import LARGEST_VALUE
from gpssm.readers._resample import resampled
from gpssm.readers._select import Selection
from gpssm.readers._table import Table, rows_of
from gpssm.readers._time import check_rising, even_step, stamps


def build(tables: Iterable[Table], selection: Selection) -> Episodes:
    """One episode per table, or per value of the episode column."""
    episodes = [_episode(part, name, selection) for table in tables for name, part in _parts(table, selection.episode)]
    _check_measured(episodes)
    return Episodes(_with_common_step(episodes))


def input_rows(table: Table, inputs: tuple[str, ...], time: str | None) -> Float64[np.ndarray, "T P"]:
    """The inputs alone, for records of the future, whose outputs nobody knows."""
    if time is not None:
        values = stamps(table, time)
        check_rising(table, time, values)
        if len(values) > 1:
            even_step(table, time, values)
    return _inputs(table, inputs)


def _parts(table: Table, episode: str | None) -> Iterator[tuple[str, Table]]:
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


def _episode(table: Table, name: str, selection: Selection) -> Episode:
    if len(table) < 2:
        place = f" ({table.where(0)})" if len(table) else ""
        raise DataError(f"{name}: only {len(table)} row{place}; a record needs at least 2, better dozens: add samples")
    y = _outputs(table, selection.outputs)
    u = _inputs(table, selection.inputs)
    dt = selection.dt
    if selection.time is not None:
        time = stamps(table, selection.time)
        check_rising(table, selection.time, time)
        if selection.resample is not None:
            y, u, dt = resampled(time, y, u, selection.resample, name)
        else:
            dt = even_step(table, selection.time, time)
    if not np.isfinite(y).any():
        columns = ", ".join(f"'{output}'" for output in selection.outputs)
        raise DataError(
            f"{name}: no output was measured at all (column {columns} is empty on every line); leave it out"
        )
    return Episode(y=y, u=u, dt=dt, name=name, output_names=list(selection.outputs), input_names=list(selection.inputs))


def _outputs(table: Table, names: tuple[str, ...]) -> Float64[np.ndarray, "T O"]:
    columns = [table.values(name, "output") for name in names]
    for name, values in zip(names, columns, strict=True):
        _check_size(table, name, "output", values, "leave the cell empty if the measurement is missing")
    return np.stack(columns, axis=1)


def _inputs(table: Table, names: tuple[str, ...]) -> Float64[np.ndarray, "T P"]:
    columns = [table.values(name, "input") for name in names]
    for name, values in zip(names, columns, strict=True):
        for row in np.flatnonzero(np.isnan(values))[:1]:
            count = int(np.isnan(values).sum())
            more = f" (and {count - 1} more)" if count > 1 else ""
            raise DataError(
                f"{table.source}: column '{name}' (input), {table.where(int(row))}: the value is missing{more}; inputs "
                "must be known at every step: fill it in (interpolate, or repeat the value that was held), or cut the "
                "record there"
            )
        _check_size(table, name, "input", values, "inputs must be known at every step: correct it")
    return np.stack(columns, axis=1) if columns else np.zeros((len(table), 0))


def _check_size(table: Table, name: str, role: str, values: Float64[np.ndarray, " T"], fix: str) -> None:
    for row in np.flatnonzero(np.isinf(values) | (np.abs(values) > LARGEST_VALUE))[:1]:
        what = "infinite" if np.isinf(values[row]) else f"{values[row]:g}, beyond anything measurable"
        raise DataError(
            f"{table.source}: column '{name}' ({role}), {table.where(int(row))}: the value is {what}; {fix}"
        )


def _with_common_step(episodes: list[Episode]) -> list[Episode]:
    """Steps that agree but for the rounding of time stamps become one; others are refused."""
    first = episodes[0]
    for other in episodes[1:]:
        if first.dt is None or other.dt is None or abs(first.dt - other.dt) <= 1e-3 * first.dt:
            continue
        raise DataError(
            f"{other.name}: its time step is {other.dt:g}, that of {first.name} is {first.dt:g}; bring all "
            "records to one "
            f"step, as with resample={max(first.dt, other.dt):g} (--resample {max(first.dt, other.dt):g})"
        )
    return [episode._replace(dt=first.dt) for episode in episodes]


def _check_measured(episodes: list[Episode]) -> None:
    for column, name in enumerate(episodes[0].output_names):
        if not any(episode.observed[:, column].any() for episode in episodes):
            files = ", ".join(episode.name for episode in episodes[:3]) + (", ..." if len(episodes) > 3 else "")
            raise DataError(f"{files}: column '{name}' (output) is empty on every line; leave it out of the outputs")
