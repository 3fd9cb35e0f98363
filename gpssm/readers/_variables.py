"""Files of named arrays: NPZ and MAT."""

import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gpssm.data import DataError
from gpssm.readers._table import Table, suggest


def npz_variables(path: Path, shown: str) -> dict[str, np.ndarray]:
    """The arrays of a NumPy archive. Pickled objects are refused: reading them could run code."""
    try:
        # Opened here, because NumPy leaves a damaged file open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise DataError(f"{shown}: one bare array; store named arrays with np.savez(path, u=u, y=y)")
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise DataError(f"{shown}: there is no such file; check the path") from error
    except (ValueError, zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError) as error:
        raise DataError(
            f"{shown}: not a readable NPZ file of plain numbers ({error}); write it anew with np.savez(path, u=u, y=y)"
        ) from error
    except AttributeError as error:  # a bare .npy array is no context manager
        raise DataError(f"{shown}: one bare array; store named arrays with np.savez(path, u=u, y=y)") from error


def mat_variables(path: Path, shown: str) -> dict[str, np.ndarray]:
    """The variables of a MATLAB file, up to version 7."""
    # SciPy's readers take a while to import.
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        content = loadmat(path)
    except FileNotFoundError as error:
        raise DataError(f"{shown}: there is no such file; check the path") from error
    except NotImplementedError as error:
        raise DataError(f"{shown}: a MATLAB 7.3 file; save it with save(..., '-v7')") from error
    except (ValueError, TypeError, OSError, EOFError, zlib.error, KeyError, IndexError, MatReadError) as error:
        raise DataError(f"{shown}: not a readable MAT file ({error}); write it anew with save(..., '-v7')") from error
    return {name: value for name, value in content.items() if not name.startswith("__")}


def table_of(variables: Mapping[str, Any], wanted: Iterable[str], shown: str) -> Table:
    """The wanted variables side by side. A matrix `y` of three columns is asked for as y0, y1, y2."""
    columns: dict[str, np.ndarray] = {}
    spread: dict[str, str] = {}
    for name, value in variables.items():
        array: np.ndarray[Any, Any] = np.asarray(value)
        if array.ndim == 2 and 1 in array.shape:
            array = array.reshape(-1)
        if array.ndim == 2:
            parts = {f"{name}{i}": part for i, part in enumerate(array.T)}
            spread[name] = f"{name}0 to {name}{len(parts) - 1}"
            columns |= parts
        else:
            columns[name] = array
    names = list(wanted)
    for name in names:
        if name in spread:
            raise DataError(f"{shown}: variable '{name}' is a matrix; ask for its columns, {spread[name]}")
        if name not in columns:
            raise DataError(f"{shown}: there is no variable '{name}'; {suggest(name, tuple(columns))}")
        if columns[name].ndim != 1:
            raise DataError(
                f"{shown}: variable '{name}' has shape {np.shape(variables[name])}; it must be a vector with one entry "
                "per sample: store it as one"
            )
    lengths = {name: len(columns[name]) for name in names}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"'{name}' has {length}" for name, length in lengths.items())
        raise DataError(f"{shown}: the variables differ in length ({listed}); cut them to the stretch they share")
    length = next(iter(lengths.values()), 0)
    if length == 0:
        raise DataError(f"{shown}: the variables {', '.join(names)} are empty; add the samples")
    cells = tuple(_plain(columns[name]) for name in names)
    return Table(shown, tuple(names), cells, np.arange(1, length + 1), place="row")


def _plain(values: np.ndarray) -> np.ndarray:
    return values.astype(object) if values.dtype.kind in "US" else values
