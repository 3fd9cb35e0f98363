"""`read`: from whatever holds records to episodes."""

from pathlib import Path
from typing import Any

from gpssm.data import DataError, Episodes
from gpssm.readers._benchmark import Record, from_benchmark
from gpssm.readers._csv import CsvFormat
from gpssm.readers._frames import from_dataframe
from gpssm.readers._pairs import from_pairs
from gpssm.readers._read import read_files
from gpssm.readers._select import Names, name_list
from gpssm.readers._xarray import from_xarray


def read(
    source: Any,
    *,
    outputs: Names | None = None,
    inputs: Names = (),
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    resample: float | int | None = None,
    style: CsvFormat | None = None,
) -> Episodes:
    """Episodes from files, told by their endings (CSV, Parquet, NPZ, MAT), from a data frame of pandas or polars, an
    xarray data set, records of `nonlinear_benchmarks`, or pairs (u, y) of arrays.

    - `source`: a path, a pattern such as `runs/*.csv`, a list of paths, or one of those objects; several files are
      several records.
    - `outputs`, `inputs`: the columns that were measured and those that were applied.
    - `time`: the column of time stamps, numbers or ISO dates; or `dt`, the time between two rows.
    - `episode`: a column that tells records in one file apart.
    - `resample`: bring unevenly sampled records to this time step; nothing is resampled unless asked.
    - `style`: delimiter and decimal sign of CSV files.

    An empty cell in an output means missing; in an input it is an error.
    """
    if isinstance(source, Episodes):
        return source
    # Columns u and y of a frame, and variables u and y of a data set, are attributes of these as well.
    if isinstance(source, Record) and not (hasattr(source, "columns") or hasattr(source, "data_vars")):
        return from_benchmark(source, dt=dt)
    if isinstance(source, list | tuple) and source and not isinstance(source[0], str | Path):
        if isinstance(source[0], Record):
            return from_benchmark(source, dt=dt)
        names = {"output_names": _listed(outputs), "input_names": _listed(inputs)}
        return from_pairs(source, dt=dt, **names)
    if outputs is None:
        raise DataError("say which columns were measured: read(source, outputs=[...], inputs=[...])")
    columns: dict[str, Any] = {"outputs": outputs, "inputs": inputs, "time": time, "dt": dt, "episode": episode}
    if hasattr(source, "data_vars"):
        if resample is not None:
            raise DataError("an xarray data set is not resampled here: use its own .interp first")
        return from_xarray(source, **columns)
    if hasattr(source, "columns"):
        return from_dataframe(source, resample=resample, **columns)
    return read_files(source, resample=resample, style=style, **columns)  # pyright: ignore[reportArgumentType]


def _listed(names: Names | None) -> list[str] | None:
    listed = [] if names is None else list(name_list(names))
    return listed or None
