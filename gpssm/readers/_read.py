"""Files to episodes: which reader a file needs, several files, patterns."""

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Float64

from gpssm.data import DataError, Episodes
from gpssm.readers._build import build, input_rows
from gpssm.readers._csv import CsvFormat, read_table
from gpssm.readers._frames import parquet_table
from gpssm.readers._mat import mat_names, mat_table
from gpssm.readers._npz import npz_names, npz_table
from gpssm.readers._open import named, opened
from gpssm.readers._select import Names, Selection, name_list, select
from gpssm.readers._table import Table

Paths = str | Path | Iterable[str | Path]

_TEXT = (".csv", ".txt", ".tsv", ".dat")
_KNOWN = (*_TEXT, ".parquet", ".npz", ".mat")
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
    outputs: Names,
    inputs: Names = (),
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    resample: float | int | None = None,
    style: CsvFormat | None = None,
) -> Episodes:
    """Episodes from CSV, Parquet, NPZ or MAT files, told by their endings; several files are several records.

    - `outputs`, `inputs`: the columns that were measured and those that were applied.
    - `time`: the column of time stamps, numbers or ISO dates; or `dt`, the time between two rows.
    - `episode`: a column that tells records in one file apart.
    - `resample`: bring unevenly sampled records to this time step; nothing is resampled unless asked.
    - `style`: delimiter and decimal sign of CSV files.

    An empty cell in an output means missing; in an input it is an error.
    """
    selection = select(outputs=outputs, inputs=inputs, time=time, dt=dt, episode=episode, resample=resample)
    wanted = _wanted(selection)
    return build((_table(path, wanted, style or CsvFormat()) for path in expand(paths)), selection)


def read_csv(
    paths: Paths,
    *,
    outputs: Names,
    inputs: Names = (),
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    resample: float | int | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
) -> Episodes:
    """Episodes from CSV files: one path, a pattern such as `runs/*.csv`, or a list; each file is a record.

    The columns are those of the header line. Commas, semicolons and tabs are recognised as delimiters; a decimal comma
    is accepted with `decimal=","` where columns are not separated by commas, too. Other arguments as in `read`.
    """
    selection = select(outputs=outputs, inputs=inputs, time=time, dt=dt, episode=episode, resample=resample)
    style = CsvFormat(delimiter, decimal)
    return build((read_table(path, style, str(path)) for path in expand(paths)), selection)


def read_parquet(
    paths: Paths,
    *,
    outputs: Names,
    inputs: Names = (),
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    resample: float | int | None = None,
) -> Episodes:
    """Episodes from Parquet files; arguments as in `read`."""
    selection = select(outputs=outputs, inputs=inputs, time=time, dt=dt, episode=episode, resample=resample)
    return build((parquet_table(path, str(path)) for path in expand(paths)), selection)


def read_npz(
    paths: Paths,
    *,
    outputs: Names,
    inputs: Names = (),
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    resample: float | int | None = None,
) -> Episodes:
    """Episodes from NumPy archives of named vectors; a matrix `y` is asked for by column, as y0, y1. See `read`."""
    selection = select(outputs=outputs, inputs=inputs, time=time, dt=dt, episode=episode, resample=resample)
    tables = (npz_table(path, _wanted(selection), str(path)) for path in expand(paths))
    return build(tables, selection)


def read_mat(
    paths: Paths,
    *,
    outputs: Names,
    inputs: Names = (),
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    resample: float | int | None = None,
) -> Episodes:
    """Episodes from MATLAB files (up to version 7) of named vectors; otherwise as `read_npz`."""
    selection = select(outputs=outputs, inputs=inputs, time=time, dt=dt, episode=episode, resample=resample)
    tables = (mat_table(path, _wanted(selection), str(path)) for path in expand(paths))
    return build(tables, selection)


def read_inputs(
    path: str | Path, *, inputs: Names, time: str | None = None, style: CsvFormat | None = None
) -> Float64[np.ndarray, "T P"]:
    """The inputs of a record whose outputs are not known yet: the rows of a forecast to come."""
    names = name_list(inputs)
    wanted = (*names, *(() if time is None else (time,)))
    (one,) = expand(path)
    table = _table(one, wanted, style or CsvFormat())
    return input_rows(table, names, time)


def column_names(path: str | Path, style: CsvFormat | None = None) -> tuple[str, ...]:
    """The names of the columns of one file."""
    (one,) = expand(path)
    suffix = one.suffix.lower()
    if suffix == ".npz":
        return npz_names(one, str(one))
    if suffix == ".mat":
        return mat_names(one, str(one))
    return _table(one, (), style or CsvFormat()).names


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


def _wanted(selection: Selection) -> tuple[str, ...]:
    extra = (name for name in (selection.time, selection.episode) if name is not None)
    return (*selection.outputs, *selection.inputs, *extra)


def _table(path: Path, wanted: tuple[str, ...], style: CsvFormat) -> Table:
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
        return read_table(path, style, shown)
    advice = _ADVICE.get(suffix, f"use one of {', '.join(_KNOWN)}")
    raise DataError(f"{shown}: files ending in '{suffix}' are not read; {advice}")
