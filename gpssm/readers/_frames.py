"""Data frames of pandas, polars and others, through narwhals; and Parquet files."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from gpssm.data import DataError, Episodes
from gpssm.readers._build import build
from gpssm.readers._open import check_unpacked, decoding, opened
from gpssm.readers._select import Names, select
from gpssm.readers._table import Table

_PARQUET = ("pyarrow", "polars")


def from_dataframe(
    frame: Any,
    *,
    outputs: Names | None = None,
    inputs: Names | None = None,
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    resample: float | int | None = None,
    name: str = "data frame",
    **how: Any,
) -> Episodes:
    """Episodes from a data frame of pandas, polars, PyArrow or anything else narwhals knows.

    One record, or several told apart by the column `episode`. Null and NaN in an output mean missing. Complaints count
    rows from 0, as frames do. An index of dates can be named as a column, by its name or as `index`. Other arguments as
    in `read`.
    """
    recipe = select(outputs=outputs, inputs=inputs, time=time, dt=dt, episode=episode, resample=resample, **how)
    return build([frame_table(frame, name)], recipe)


def frame_table(frame: Any, shown: str) -> Table:
    """The columns of a frame; the frame itself is left as it is."""
    # narwhals costs a quarter of a second, which reading a CSV file should not pay.
    import narwhals as nw

    try:
        eager = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise DataError(
            f"{shown}: a {type(frame).__name__} is not a data frame; pass one of pandas or polars (collect a lazy one "
            "first), or use Episodes.from_arrays for arrays"
        ) from error
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"{shown}: the frame cannot be read ({error}); give every column a name of its own") from error
    if eager.shape[0] == 0:
        raise DataError(f"{shown}: the frame has no rows; add the samples")
    names = tuple(str(name) for name in eager.columns)
    # By position: a frame may number its columns, or call them by tuples.
    cells = tuple(_cells(eager[:, i]) for i in range(len(names)))
    index: Any = getattr(frame, "index", None)
    if index is not None and getattr(getattr(index, "dtype", None), "kind", "") == "M":
        # Time in the index would be lost, and with it that rows are uneven.
        called = str(index.name or "index")
        if called not in names:
            names, cells = (*names, called), (*cells, np.asarray(index.to_numpy(), dtype="datetime64[ns]"))
    return Table(shown, names, cells, np.arange(eager.shape[0]), place="row")


def parquet_table(path: Path, shown: str) -> Table:
    """The columns of a Parquet file, read by whichever engine is installed."""
    import narwhals as nw

    engine: Any = next((name for name in _PARQUET if find_spec(name) is not None), None)
    if engine is None:
        raise DataError(f"{shown}: reading Parquet needs PyArrow or polars: pip install 'gpssm[parquet]'")
    with opened(path, shown) as file:
        if file.read(4) != b"PAR1":
            raise DataError(f"{shown}: not a Parquet file; check what it is, and its ending")
    with decoding(shown, "Parquet", "write it anew"):
        if engine == "pyarrow":
            from pyarrow.parquet import read_metadata

            # Repeated values take no space in the file.
            found = read_metadata(path)
            check_unpacked(8 * found.num_rows * found.num_columns, shown)
        frame = nw.read_parquet(str(path), backend=engine).to_native()
        return frame_table(frame, shown)


def _cells(series: Any) -> np.ndarray:
    """Numbers as they are: whole ones are not rounded to floats, because time stamps in nanoseconds would be."""
    import narwhals as nw

    dtype, missing = series.dtype, series.is_null().to_numpy()
    if dtype.is_integer() and not missing.any():
        return series.to_numpy()
    if dtype.is_numeric() and not dtype.is_decimal():
        return np.where(missing, np.nan, series.cast(nw.Float64).to_numpy()).astype(np.float64)
    cells = np.array([*series.to_list(), None], dtype=object)[:-1]
    # pandas has several signs for what is missing.
    cells[missing] = None
    return cells
