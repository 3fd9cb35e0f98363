"""Malformed NPZ, MAT and Parquet files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.io import savemat

from tests.cli.malformed import BadFiles, record

U, Y = np.sin(np.arange(20.0)), np.cos(np.arange(20.0))
MISSING = np.where(np.arange(20) == 6, np.nan, U)


def npz(**variables: Any) -> Callable[[Path], None]:
    return lambda path: np.savez(path, **variables)


def mat(**variables: Any) -> Callable[[Path], None]:
    return lambda path: savemat(path, variables)


def parquet(**columns: Any) -> Callable[[Path], None]:
    return lambda path: pq.write_table(pa.table(columns), path)


def truncated(write: Callable[[Path], None]) -> Callable[[Path], None]:
    def cut(path: Path) -> None:
        write(path)
        path.write_bytes(path.read_bytes()[:-60])

    return cut


def bad(name: str, file: str, content: Any, *mentions: str, **columns: object) -> BadFiles:
    return BadFiles(f"{file}: {name}", {file: content}, (file, *mentions), columns)


ARRAYS = [
    bad("text", "a.npz", record(), "NPZ", "savez"),
    bad("empty", "a.npz", b"", "NPZ"),
    bad("cut off", "a.npz", truncated(npz(u=U, y=Y)), "NPZ"),
    bad("pickled objects", "a.npz", npz(u=U, y=np.array([{}] * 20, dtype=object)), "NPZ"),
    bad("no such variable", "a.npz", npz(u=U, angle=Y), "'y'", "'angle'"),
    bad("unequal lengths", "a.npz", npz(u=U[:19], y=Y), "'u' has 19", "'y' has 20"),
    bad("a matrix", "a.npz", npz(u=U, y=np.stack([Y, U], 1)), "'y'", "y0 to y1"),
    bad("three dimensions", "a.npz", npz(u=U, y=np.zeros((4, 5, 2))), "'y'", "(4, 5, 2)"),
    bad("a single number", "a.npz", npz(u=U, y=np.array(1.0)), "'y'", "vector"),
    bad("no samples", "a.npz", npz(u=U[:0], y=Y[:0]), "empty"),
    bad("one sample", "a.npz", npz(u=U[:1], y=Y[:1]), "row"),
    bad("complex", "a.npz", npz(u=U, y=Y + 1j), "'y'", "complex"),
    bad("truth values", "a.npz", npz(u=U > 0, y=Y), "'u'", "truth values"),
    bad("text cells", "a.npz", npz(u=U, y=np.array(["a"] * 20)), "'y'", "row 1"),
    bad("dates", "a.npz", npz(u=U, y=np.arange(20).astype("datetime64[s]")), "'y'", "dates"),
    bad("NaN in an input", "a.npz", npz(u=MISSING, y=Y), "'u'", "row 7"),
    bad("infinite output", "a.npz", npz(u=U, y=np.where(np.arange(20) == 3, np.inf, Y)), "'y'", "row 4"),
    bad("constant", "a.npz", npz(u=U, y=0.0 * Y), "'y'"),
    bad("long double overflow", "a.npz", npz(u=U, y=Y.astype(np.longdouble) * np.longdouble("1e4000")), "'y'"),
    bad("text", "a.mat", record(), "MAT"),
    bad("empty", "a.mat", b"", "MAT"),
    bad("version 7.3", "a.mat", b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(400), "-v7"),
    bad("cut off", "a.mat", truncated(mat(u=U, y=Y)), "MAT"),
    bad("no such variable", "a.mat", mat(u=U, p=Y), "'y'", "'p'"),
    bad("unequal lengths", "a.mat", mat(u=U[:7], y=Y), "'u' has 7"),
    bad("a structure", "a.mat", mat(u=U, y={"value": Y}), "'y'"),
    bad("text cells", "a.mat", mat(u=U, y="not numbers"), "'y'"),
    bad("NaN in an input", "a.mat", mat(u=MISSING, y=Y), "'u'", "row 7"),
    bad("text", "a.parquet", record(), "Parquet"),
    bad("empty", "a.parquet", b"", "Parquet"),
    bad("cut off", "a.parquet", truncated(parquet(u=U, y=Y)), "Parquet"),
    bad("no such column", "a.parquet", parquet(u=U, angle=Y), "'y'", "'angle'"),
    bad("null in an input", "a.parquet", parquet(u=[None, *U[1:]], y=Y), "'u'", "row 0"),
    bad("text column", "a.parquet", parquet(u=U, y=["x"] * 20), "'y'", "row 0", "'x'"),
    bad("no rows", "a.parquet", parquet(u=U[:0], y=Y[:0]), "no rows"),
]
