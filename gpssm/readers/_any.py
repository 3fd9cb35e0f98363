"""`read`: from whatever holds records to episodes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpssm.data import DataError, Episodes, Recipe
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
    inputs: Names | None = None,
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    resample: float | int | None = None,
    time_unit: str | None = None,
    skip_rows: int | None = None,
    hold_inputs: bool | None = None,
    drop_repeats: bool | None = None,
    offsets: Mapping[str, float | int] | None = None,
    style: CsvFormat | None = None,
    recipe: Recipe | None = None,
) -> Episodes:
    """Episodes from files, told by their endings (CSV, Parquet, NPZ, MAT), from a data frame of pandas or polars, an
    xarray data set, records of `nonlinear_benchmarks`, or pairs (u, y) of arrays.

    - `source`: a path, a pattern such as `runs/*.csv`, a list of paths, or one of those objects; several files are
      several records.
    - `outputs`, `inputs`: the columns that were measured and those that were applied. `speed` finds `speed [rpm]`.
    - `time`: the column of time stamps, numbers or ISO dates; or `dt`, the time between two rows.
    - `episode`: a column that tells records in one file apart.
    - `resample`: bring unevenly sampled records to this time step; nothing is resampled unless asked.
    - `time_unit`: what the stamps count (s, ms, us, ns, min, h); they become seconds.
    - `skip_rows`: how many rows of words, such as units, stand below the header of text files.
    - `hold_inputs`: whether a missing input is taken to be the one before it.
    - `drop_repeats`: whether a row with the time stamp of the row before it is left out.
    - `offsets`: numbers that are subtracted from channels, by name.
    - `style`: delimiter and decimal sign of CSV files.
    - `recipe`: that of a model or of other episodes (`system.recipe`, `episodes.recipe`), to read records as those
      were read. Arguments that are given beside it win; an empty text for `time` or `episode` takes that column away.

    An empty cell in an output means missing; in an input it is an error. All faults of all files are told at once.
    """
    if isinstance(source, Episodes):
        return source
    names = {"outputs": outputs, "inputs": inputs}
    # Columns u and y of a frame, and variables u and y of a data set, are attributes of these as well.
    if isinstance(source, Record) and not (hasattr(source, "columns") or hasattr(source, "data_vars")):
        return from_benchmark(source, dt=dt)
    if isinstance(source, list | tuple) and source and not isinstance(source[0], str | Path):
        if isinstance(source[0], Record):
            return from_benchmark(source, dt=dt)
        if recipe is not None:
            names = {"outputs": recipe.outputs, "inputs": recipe.inputs}
            dt = recipe.dt if dt is None else dt
        return from_pairs(source, dt=dt, output_names=_listed(names["outputs"]), input_names=_listed(names["inputs"]))
    if outputs is None and recipe is None:
        raise DataError("say which columns were measured: read(source, outputs=[...], inputs=[...])")
    how: dict[str, Any] = {
        **names,
        "time": time,
        "dt": dt,
        "episode": episode,
        "time_unit": time_unit,
        "skip_rows": skip_rows,
        "hold_inputs": hold_inputs,
        "drop_repeats": drop_repeats,
        "offsets": offsets,
        "style": style,
        "recipe": recipe,
        "resample": resample,
    }
    if hasattr(source, "data_vars"):
        return from_xarray(source, **how)
    if hasattr(source, "columns"):
        return from_dataframe(source, **how)
    return read_files(source, **how)  # pyright: ignore[reportArgumentType]


def _listed(names: Names | None) -> list[str] | None:
    listed = [] if names is None else list(name_list(names))
    return listed or None
