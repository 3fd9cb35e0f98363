"""MATLAB files up to version 7. Only the variables that are wanted are unpacked."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gpssm.data import DataError
from gpssm.readers._mat5 import byte_order, numbers, variables
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


Shapes = dict[str, tuple[tuple[int, ...], str]]
"""Shape and class of each variable."""


def mat_names(path: Path, shown: str) -> tuple[str, ...]:
    """The names of the variables; none of them is read."""
    with opened(path, shown) as file, decoding(shown, _KIND, _REMEDY):
        return tuple(_contents(file, shown).shapes)


def mat_table(path: Path, wanted: tuple[str, ...], shown: str) -> Table:
    """The wanted variables side by side."""
    with opened(path, shown) as file, decoding(shown, _KIND, _REMEDY):
        contents = _contents(file, shown)
        found = _load(contents, holders(contents.shapes, wanted), shown)
    return table_of(found, wanted, shown, tuple(contents.shapes))


def mat_variables(path: Path, shown: str, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Some variables as they are."""
    with opened(path, shown) as file, decoding(shown, _KIND, _REMEDY):
        return _load(_contents(file, shown), names, shown)


@dataclass(frozen=True)
class _Contents:
    """What there is, and how it is read."""

    shapes: Shapes
    read: Callable[[str], np.ndarray]


def _contents(file: BinaryIO, shown: str) -> _Contents:
    head = file.read(128)
    if head[124:128] in (b"\x00\x02IM", b"\x02\x00MI"):
        raise DataError(f"{shown}: a MATLAB 7.3 file; save it with save(..., '-v7')")
    order = byte_order(head)
    if order is None:
        return _old(file)
    known = {variable.name: variable for variable in variables(file, order)}

    def read(name: str) -> np.ndarray:
        if known[name].is_complex:
            raise DataError(f"{shown}: variable '{name}' is complex; store real and imaginary parts as two variables")
        return numbers(file, order, known[name])

    return _Contents({name: (variable.shape, variable.kind) for name, variable in known.items()}, read)


def _old(file: BinaryIO) -> _Contents:
    """Files of version 4, which SciPy reads in Python."""
    # SciPy's readers take a while to import.
    from scipy.io import loadmat, whosmat

    file.seek(0)
    if 0 not in file.read(4):  # by which SciPy knows these files; it reads others in C
        raise ValueError("the first bytes are not those of a MATLAB file")
    file.seek(0)
    shapes = {name: (shape, kind) for name, shape, kind in whosmat(file)}

    def read(name: str) -> np.ndarray:
        file.seek(0)
        return loadmat(file, variable_names=[name], spmatrix=False)[name]

    return _Contents(shapes, read)


def _load(contents: _Contents, names: Sequence[str], shown: str) -> dict[str, np.ndarray]:
    shapes = contents.shapes
    listed = [name for name in names if name in shapes]
    for name in listed:
        if shapes[name][1] in _NO_NUMBERS:
            raise DataError(f"{shown}: variable '{name}' {_NO_NUMBERS[shapes[name][1]]}")
    check_unpacked(sum(_BYTES * math.prod(shapes[name][0]) for name in listed), shown)
    return {name: contents.read(name) for name in listed}
