"""The tensors of a file, read and checked in one pass: nothing is ever held twice."""

import hashlib
import math
import sys
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gpssm._core._errors import FileError

Tensors = dict[str, np.ndarray]

DTYPES = {"F64": "f8", "F32": "f4", "I64": "i8", "I32": "i4", "U32": "u4", "U8": "u1", "BOOL": "b1"}
NAMES = {code: name for name, code in DTYPES.items()}
MAX_DIMENSIONS = 32
_WINDOW = 2**22
_ALIGNMENT = 64
"""Arrays that begin at such an address are used by JAX as they are; others are copied."""


def is_possible(dtype: Any, shape: Any, limit: int) -> bool:
    """Whether a file of ours may hold a tensor of this type and shape."""
    if not isinstance(dtype, str) or dtype not in DTYPES or not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS:
        return False
    return all(type(n) is int and 0 <= n <= limit for n in shape)


def nbytes(dtype: str, shape: list[int]) -> int:
    """The bytes of a tensor."""
    return math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize


def check_offsets(table: dict[str, Any], sizes: dict[str, int]) -> bool:
    """Whether the tensors stand one after the other, without gaps and without sharing bytes."""
    spans = []
    for name, size in sizes.items():
        offsets = table[name].get("data_offsets")
        if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(n) is int for n in offsets):
            return False
        if offsets[1] - offsets[0] != size:
            return False
        spans.append(tuple(offsets))
    end = 0
    for first, last in sorted(spans):
        if first != end:
            return False
        end = last
    return True


def read_tensors(file: BinaryIO, start: int, table: dict[str, Any], entries: dict[str, Any], path: Path) -> Tensors:
    """Each tensor straight into the array that is returned, its digest taken on the way.

    What the file holds is not mapped: a mapped file that somebody cuts short while it is in use kills the process.
    """
    tensors: Tensors = {}
    for name, entry in entries.items():
        array = _aligned(entry["dtype"], entry["shape"])
        file.seek(start + table[name]["data_offsets"][0])
        digest = hashlib.sha256()
        rest = array.reshape(-1).view(np.uint8).data
        while rest:
            count = file.readinto(rest[:_WINDOW])  # type: ignore[attr-defined]
            if not count:
                raise FileError(f"{path} was cut short while it was read: wait until it is written, and load again")
            digest.update(rest[:count])
            rest = rest[count:]
        if digest.hexdigest() != entry["sha256"]:
            raise FileError(
                f"{path} is damaged: '{name}' does not have the digest that the header gives. Use a copy of it, or fit "
                "the model again"
            )
        array.setflags(write=False)  # JAX will use the same memory
        tensors[name] = array if sys.byteorder == "little" else array.astype(array.dtype.newbyteorder("="))
    return tensors


def _aligned(dtype: str, shape: list[int]) -> np.ndarray:
    wanted = nbytes(dtype, shape)
    room = np.empty(wanted + _ALIGNMENT, np.uint8)
    first = -room.ctypes.data % _ALIGNMENT
    return room[first : first + wanted].view("<" + DTYPES[dtype]).reshape(shape)
