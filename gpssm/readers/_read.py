"""Files to episodes: which reader a file needs, several files, patterns."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from gpssm.data import DataError, Episodes, Recipe
from gpssm.data._recipe import split_unit
from gpssm.readers._build import build, input_rows
from gpssm.readers._clock import looks_like_time
from gpssm.readers._csv import CsvFormat, read_table
from gpssm.readers._faults import Faults
from gpssm.readers._frames import parquet_table
from gpssm.readers._mat import mat_names, mat_table
from gpssm.readers._npz import npz_names, npz_table
from gpssm.readers._open import named, opened
from gpssm.readers._select import Names, select, style_of
from gpssm.readers._table import Table

_UNKNOWN = "(outputs to come)"
Paths = str | Path | Iterable[str | Path]

_TEXT = (".csv", ".txt", ".tsv", ".dat")
KNOWN = (*_TEXT, ".parquet", ".npz", ".mat")
_ADVICE = {
    ".xlsx": "export the sheet as CSV",
    ".xls": "export the sheet as CSV",
    ".gz": "unpack it first",
    ".zip": "unpack it first",
    ".npy": "store named arrays with np.savez(path, u=u, y=y)",
    ".h5": "export it as CSV, Parquet or NPZ",
    ".pkl": "write it as CSV or Parquet; pickles can run code and are not read",
    ".gpssm": "this is a model, not a record; name the files with the data",
}


def read_files(
    paths: Paths,
    *,
    outputs: Names | None = None,
    inputs: Names | None = None,
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    resample: float | int | None = None,
    style: CsvFormat | None = None,
    **how: Any,
) -> Episodes:
    """Episodes from CSV, Parquet, NPZ or MAT files, told by their endings; several files are several records.

    The arguments are those of `read`. All faults of all files are told at once.
    """
    recipe = select(
        outputs=outputs, inputs=inputs, time=time, dt=dt, episode=episode, resample=resample, style=style, **how
    )
    return _read(paths, recipe, lambda path, faults: file_table(path, recipe, faults=faults))


def read_csv(paths: Paths, *, outputs: Names, delimiter: str | None = None, decimal: str = ".", **how: Any) -> Episodes:
    """Episodes from CSV files: one path, a pattern such as `runs/*.csv`, or a list; each file is a record.

    The columns are those of the header line. Commas, semicolons and tabs are recognised as delimiters; a decimal comma
    is accepted with `decimal=","` where columns are not separated by commas, too. Other arguments as in `read`.
    """
    recipe = select(outputs=outputs, style=CsvFormat(delimiter, decimal), **how)
    return _read(paths, recipe, partial(_csv_table, recipe))


def read_parquet(paths: Paths, *, outputs: Names, **how: Any) -> Episodes:
    """Episodes from Parquet files; arguments as in `read`."""
    return _read(paths, select(outputs=outputs, **how), lambda path, _: parquet_table(path, str(path)))


def read_npz(paths: Paths, *, outputs: Names, **how: Any) -> Episodes:
    """Episodes from NumPy archives of named vectors; a matrix `y` is asked for by column, as y0, y1. See `read`."""
    recipe = select(outputs=outputs, **how)
    return _read(paths, recipe, lambda path, _: npz_table(path, recipe.columns, str(path)))


def read_mat(paths: Paths, *, outputs: Names, **how: Any) -> Episodes:
    """Episodes from MATLAB files (up to version 7) of named vectors; otherwise as `read_npz`."""
    recipe = select(outputs=outputs, **how)
    return _read(paths, recipe, lambda path, _: mat_table(path, recipe.columns, str(path)))


def read_inputs(
    path: str | Path,
    *,
    inputs: Names | None = None,
    time: str | None = None,
    style: CsvFormat | None = None,
    recipe: Recipe | None = None,
    **how: Any,
) -> Float64[np.ndarray, "T P"]:
    """The inputs of a record whose outputs are not known yet: the rows of a forecast to come.

    With the recipe of a model (`system.recipe`) they are read as its training records were; a column of time stamps may
    be left out, and rows are steps then.
    """
    if recipe is None:
        # Nobody asks for outputs here, but no recipe is without.
        chosen = select(outputs=_UNKNOWN, inputs=inputs, time=time, style=style, **how)
    else:
        chosen = select(inputs=inputs, time=time, style=style, recipe=recipe, **how)
    (one,) = expand(path)
    there = column_names(one, style_of(chosen), chosen.skip_rows)
    stamped = chosen.time is not None and (time is not None or any(chosen.time == bare for bare in _bare(there)))
    wanted = (*chosen.inputs, *((chosen.time,) if stamped and chosen.time is not None else ()))
    table = file_table(one, chosen, wanted)
    if time:
        table.column(time, "time")  # what was asked for must be there
    return input_rows(table, chosen)


def column_names(path: str | Path, style: CsvFormat | None = None, skip: int = 0) -> tuple[str, ...]:
    """The names of the columns of one file."""
    (one,) = expand(path)
    suffix = one.suffix.lower()
    if suffix == ".npz":
        return npz_names(one, str(one))
    if suffix == ".mat":
        return mat_names(one, str(one))
    return any_table(one, (), style or CsvFormat(), skip).names


def expand(paths: Paths) -> Iterator[Path]:
    """Files named or matched, in order and once each; a pattern that matches none is refused."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise DataError("no file is named; pass at least one path")
    seen: set[str] = set()
    for entry in given:
        matches = [named(entry)]
        if not matches[0].exists() and glob.has_magic(str(entry)):
            matches = [Path(match) for match in sorted(glob.glob(str(entry), recursive=True))]
            if not matches:
                raise DataError(f"{entry}: no file matches this pattern; check the folder and the ending")
        for path in matches:
            # Not `path.resolve`, which fails for a link to itself; that is told when the file is opened.
            place = os.path.realpath(path)
            if place in seen:
                raise DataError(f"{path}: the file is named twice; a record that counts twice would bias the model")
            seen.add(place)
            yield path


def file_table(
    path: Path, recipe: Recipe, wanted: tuple[str, ...] | None = None, faults: Faults | None = None
) -> Table:
    """The columns of a file that a recipe asks for, and of an archive also a clock that it does not ask for."""
    asked = recipe.columns if wanted is None else wanted
    if recipe.time is None and path.suffix.lower() in (".npz", ".mat"):
        clocks = tuple(name for name in column_names(path) if looks_like_time(name) and name not in asked)
        # One of another length, or of words, is no clock of these rows.
        with suppress(DataError):
            return any_table(path, (*asked, *clocks), style_of(recipe), recipe.skip_rows)
    return any_table(path, asked, style_of(recipe), recipe.skip_rows, faults)


def _csv_table(recipe: Recipe, path: Path, faults: Faults) -> Table:
    return read_table(path, style_of(recipe), str(path), recipe.skip_rows, faults)


def _read(paths: Paths, recipe: Recipe, table: Callable[[Path, Faults], Table]) -> Episodes:
    """Every file is looked at, also after one that cannot be used."""
    faults, tables = Faults(), []
    for path in expand(paths):
        with faults.noted():
            tables.append(table(path, faults))
    return build(tables, recipe, faults)


def _bare(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield name
        yield split_unit(name)[0]


def any_table(path: Path, wanted: tuple[str, ...], style: CsvFormat, skip: int, faults: Faults | None = None) -> Table:
    """The columns of a file of any kind; of archives the wanted ones alone. `faults` as in `read_table`."""
    shown, suffix = str(path), path.suffix.lower()
    # Said before a word on the ending.
    with opened(path, shown):
        pass
    if suffix == ".npz":
        return npz_table(path, wanted, shown)
    if suffix == ".mat":
        return mat_table(path, wanted, shown)
    if suffix == ".parquet":
        return parquet_table(path, shown)
    if suffix in _TEXT:
        return read_table(path, style, shown, skip, faults)
    advice = _ADVICE.get(suffix, f"use one of {', '.join(KNOWN)}")
    raise DataError(f"{shown}: files ending in '{suffix}' are not read; {advice}")
