"""Data frames of pandas, polars and others, through narwhals; and Parquet files."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from gpssm.data import DataError, Episodes
from gpssm.readers._build import build
from gpssm.readers._select import Names, select
from gpssm.readers._table import Table

_PARQUET = ("pyarrow", "polars")


def from_dataframe(
    frame: Any,
    *,
    outputs: Names,
    inputs: Names = (),
    time: str | None = None,
    dt: float | int | None = None,
    episode: str | None = None,
    resample: float | int | None = None,
    name: str = "data frame",
) -> Episodes:
    """Episodes from a data frame of pandas, polars, PyArrow or anything else narwhals knows.

    One record, or several told apart by the column `episode`. Null and NaN in an output mean missing. Complaints count
    rows from 0, as frames do.
    """
    selection = select(outputs=outputs, inputs=inputs, time=time, dt=dt, episode=episode, resample=resample)
    return build([frame_table(frame, name)], selection)


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
    cells = tuple(_cells(eager[name]) for name in eager.columns)
    return Table(shown, names, cells, np.arange(eager.shape[0]), place="row")


def parquet_table(path: Path, shown: str) -> Table:
    """The columns of a Parquet file, read by whichever engine is installed."""
    import narwhals as nw

    engine: Any = next((name for name in _PARQUET if find_spec(name) is not None), None)
    if engine is None:
        raise DataError(f"{shown}: reading Parquet needs PyArrow or polars: pip install 'gpssm[parquet]'")
    if not path.is_file():
        raise DataError(f"{shown}: there is no such file; check the path")
    if path.read_bytes()[:4] != b"PAR1":
        raise DataError(f"{shown}: not a Parquet file; check what it is, and its ending")
    try:
        frame = nw.read_parquet(str(path), backend=engine)
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(f"{shown}: a damaged Parquet file ({error}); write it anew") from error
    return frame_table(frame.to_native(), shown)


def _cells(series: Any) -> np.ndarray:
    dtype = series.dtype
    if dtype.is_numeric() and not dtype.is_decimal():
        return np.array([np.nan if value is None else value for value in series.to_list()], dtype=np.float64)
    return np.array([*series.to_list(), None], dtype=object)[:-1]
