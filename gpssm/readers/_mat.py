"""MATLAB files up to version 7. Only the variables that are wanted are unpacked."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gpssm.data import DataError
from gpssm.readers._open import check_unpacked, decoding, opened
from gpssm.readers._table import Table
from gpssm.readers._variables import holders, table_of

_REMEDY = "write it anew with save(..., '-v7')"
_KIND = "MAT"
_BYTES = 8  # of a number, at most

# What MATLAB calls the classes of variables that are no arrays of numbers.
_NO_NUMBERS = {
    "struct": "is a structure; store its fields as variables of their own, as in y = s.y",
    "char": "is text, not numbers; store numbers",
    "cell": "is a cell array; store it as a vector, as in y = cell2mat(y)",
    "sparse": "is a sparse matrix; store it as a full one, as in y = full(y)",
    "object": "is an object; store its numbers as a vector",
    "function": "is a function; store the numbers it gives",
    "opaque": "is an object such as a table or a string; store its numbers as vectors",
}


def mat_names(path: Path, shown: str) -> tuple[str, ...]:
    """The names of the variables; none of them is read."""
    with opened(path, shown) as file, decoding(shown, _KIND, _REMEDY):
        return tuple(_kinds(file, shown))


def mat_table(path: Path, wanted: tuple[str, ...], shown: str) -> Table:
    """The wanted variables side by side."""
    with opened(path, shown) as file, decoding(shown, _KIND, _REMEDY):
        known = _kinds(file, shown)
        variables = _load(file, holders(known, wanted), known, shown)
    return table_of(variables, wanted, shown, tuple(known))


def mat_variables(path: Path, shown: str, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Some variables as they are."""
    with opened(path, shown) as file, decoding(shown, _KIND, _REMEDY):
        return _load(file, names, _kinds(file, shown), shown)


def _kinds(file: BinaryIO, shown: str) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and class of every variable, from their headers."""
    # SciPy's readers take a while to import.
    from scipy.io import whosmat

    try:
        found = whosmat(file)
    except NotImplementedError as error:
        raise DataError(f"{shown}: a MATLAB 7.3 file; save it with save(..., '-v7')") from error
    file.seek(0)
    return {name: (shape, kind) for name, shape, kind in found}


def _load(
    file: BinaryIO, names: Sequence[str], known: dict[str, tuple[tuple[int, ...], str]], shown: str
) -> dict[str, np.ndarray]:
    from scipy.io import loadmat

    for name in names:
        reason = _NO_NUMBERS.get(known[name][1]) if name in known else None
        if reason is not None:
            raise DataError(f"{shown}: variable '{name}' {reason}")
    check_unpacked(sum(_BYTES * math.prod(known[name][0]) for name in names if name in known), shown)
    content = loadmat(file, variable_names=list(names), spmatrix=False)
    return {name: content[name] for name in names if name in content}
