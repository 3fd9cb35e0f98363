"""MATLAB files of the versions 5 to 7: their arrays of numbers, read without trusting a byte.

SciPy's reader is written in C, takes codes of types from the file as positions in its tables, and kills the process
where they are damaged.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

_CLASSES = {
    **{1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2"},
    **{11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8", 16: "function", 17: "opaque"},
}
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _COMPRESSED = 14, 15
_OPAQUE = 17
_COMPLEX = 0x0800
_FRONT = 4096
"""Class, shape and name of a variable stand within so many bytes."""


@dataclass(frozen=True)
class Variable:
    """Where a variable stands, and what it says of itself."""

    name: str
    kind: str
    """A type of NumPy, or what MATLAB calls a variable that is no array of numbers."""
    shape: tuple[int, ...]
    is_complex: bool
    start: int
    size: int
    compressed: bool
    data: int
    """Where its numbers begin, within the unpacked variable."""


def byte_order(head: bytes) -> str | None:
    """That of a file of these versions, from its first 128 bytes; None for other files."""
    if len(head) < 128 or 0 in head[:4]:
        return None
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
    return order if order is not None and struct.unpack(order + "H", head[124:126])[0] == 0x0100 else None


def variables(file: BinaryIO, order: str) -> Iterator[Variable]:
    """What the file holds; no numbers are read."""
    end = file.seek(0, 2)
    start = 128
    while start < end:
        file.seek(start)
        kind, size = struct.unpack(order + "II", _exactly(file, 8))
        if kind not in (_MATRIX, _COMPRESSED) or start + 8 + size > end:
            raise ValueError(f"byte {start} begins no variable, or it is cut off")
        found = _front(file, order, start + 8, size, kind == _COMPRESSED)
        if found.name:  # MATLAB hides what belongs to functions in one without a name
            yield found
        start += 8 + size


def _front(file: BinaryIO, order: str, start: int, size: int, compressed: bool) -> Variable:
    if compressed:
        front = zlib.decompressobj().decompress(file.read(min(size, _FRONT)), _FRONT)
        kind, _ = struct.unpack_from(order + "II", front)
        if kind != _MATRIX:
            raise ValueError(f"the compressed variable at byte {start} is none")
        at = 8
    else:
        front, at = file.read(min(size, _FRONT)), 0
    _, flags, at = _part(front, order, at)
    flag, _ = struct.unpack(order + "II", flags)
    shape: tuple[int, ...] = ()
    if flag & 0xFF != _OPAQUE:
        _, dims, at = _part(front, order, at)
        shape = struct.unpack(f"{order}{len(dims) // 4}i", dims)
        if min(shape, default=-1) < 0:
            raise ValueError(f"a variable has the shape {shape}")
    _, name, at = _part(front, order, at)
    kind = _CLASSES.get(flag & 0xFF)
    if kind is None:
        raise ValueError(f"a variable has the class {flag & 0xFF}, which there is not")
    text = bytes(name).decode("latin1")
    return Variable(text, kind, shape, bool(flag & _COMPLEX), start, size, compressed, at)


def numbers(file: BinaryIO, order: str, variable: Variable) -> np.ndarray:
    """The array, which must have as many numbers as its shape says."""
    file.seek(variable.start)
    count = math.prod(variable.shape)
    body = _exactly(file, variable.size)
    if variable.compressed:
        body = _unpacked(body, variable.data + 16 + 8 * count)
    code, stored, _ = _part(body, order, variable.data)
    if code not in _STORED:
        raise ValueError(f"'{variable.name}' is stored as type {code}, which there is not")
    values = np.frombuffer(stored, order + _STORED[code])
    if len(values) != count:
        raise ValueError(f"'{variable.name}' has {len(values)} numbers, and the shape {variable.shape}")
    return values.astype(variable.kind).reshape(variable.shape, order="F")


def _unpacked(data: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj()
    body = stream.decompress(data, limit + 1)
    # Only at the end does the format say whether all bytes were right.
    if len(body) <= limit and not stream.eof:
        raise ValueError("a compressed variable is cut off")
    return body


def _part(body: bytes, order: str, at: int) -> tuple[int, bytes, int]:
    """Type and bytes of a part of a variable, and where the next one begins."""
    (word,) = struct.unpack_from(order + "I", body, at)
    if word >> 16:  # up to four bytes stand beside their type
        code, size, first, after = word & 0xFFFF, word >> 16, at + 4, at + 8
        if size > 4:
            raise ValueError(f"a small part claims {size} bytes")
    else:
        (size,) = struct.unpack_from(order + "I", body, at + 4)
        code, first, after = word, at + 8, at + 8 + size + -size % 8
    if first + size > len(body):
        raise ValueError("a part of a variable is cut off")
    return code, body[first : first + size], after


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise ValueError("the file is cut off")
    return data
