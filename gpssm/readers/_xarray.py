"""xarray data sets, used by what they offer and without importing xarray."""

from dataclasses import replace
from typing import Any

import numpy as np

from gpssm.data import DataError, Episodes
from gpssm.readers._build import build
from gpssm.readers._select import Names, select
from gpssm.readers._table import Table, rows_of


def from_xarray(
    dataset: Any,
    *,
    outputs: Names | None = None,
    inputs: Names | None = None,
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    name: str = "data set",
    **how: Any,
) -> Episodes:
    """Episodes from an `xarray.Dataset` whose variables have one dimension, time, or two: (episode, time).

    `time` may name a coordinate; `episode` names the dimension along which records lie side by side. Where such records
    are shorter than the longest, their outputs end in NaN, and those last steps are cut off. Units are read off the
    attribute `units`. Other arguments as in `read`.
    """
    recipe = select(outputs=outputs, inputs=inputs, time=time, dt=dt, episode=episode, **how)
    episode, time = recipe.episode, recipe.time
    wanted = [*recipe.outputs, *recipe.inputs, *([] if time is None else [time])]
    try:
        known = tuple(str(key) for key in dataset.variables)
        arrays = {key: dataset[key] for key in wanted if key in known}
        dims = {key: tuple(array.dims) for key, array in arrays.items()}
    except (AttributeError, TypeError) as error:
        raise DataError(f"{name}: a {type(dataset).__name__} is not an xarray Dataset; pass one") from error
    for key in wanted:
        if key in arrays and (set(dims[key]) - {episode} == set() or len(set(dims[key]) - {episode}) > 1):
            raise DataError(
                f"{name}: variable '{key}' has the dimensions {dims[key]}; it needs one, time, beside the dimension of "
                "episodes, which is named with episode="
            )
    clock = {dim for found in dims.values() for dim in found} - {episode}
    if time is None and len(clock) == 1 and (dim := str(*clock)) in known:
        arrays[dim] = dataset[dim]  # rows must not be taken as even where the coordinate says otherwise
    if episode is not None and all(episode not in found for found in dims.values()):
        raise DataError(f"{name}: no variable has the dimension '{episode}'; leave episode= out")
    count = 1 if episode is None else int(dataset.sizes[episode])
    tables = [_table(arrays, episode, i, name if episode is None else f"{name} [{episode}={i}]") for i in range(count)]
    if episode is not None:
        tables = [_without_padding(table, recipe.outputs) for table in tables]
    episodes = build(tables, replace(recipe, episode=None))
    return Episodes(
        e._replace(recipe=None if e.recipe is None else replace(e.recipe, episode=episode)) for e in episodes
    )


def _table(arrays: dict[str, Any], episode: str | None, index: int, shown: str) -> Table:
    columns = {
        key: np.asarray(array.isel({episode: index}).values if episode in array.dims else array.values)
        for key, array in arrays.items()
    }
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise DataError(f"{shown}: the variables {', '.join(columns)} differ in length; align them first")
    length = lengths.pop() if lengths else 0
    units = tuple(str(array.attrs.get("units", "")) for array in arrays.values())
    return Table(shown, tuple(columns), tuple(columns.values()), np.arange(length), place="row", units=units)


def _without_padding(table: Table, outputs: tuple[str, ...]) -> Table:
    """A short record in a rectangular array ends in NaN in every output."""
    y = np.stack([table.values(name, "output") for name in outputs], axis=1)
    measured = np.flatnonzero(~np.isnan(y).all(axis=1))
    end = int(measured[-1]) + 1 if len(measured) else len(y)
    return rows_of(table, np.arange(end))
