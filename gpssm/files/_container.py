"""The container of all our files: a safetensors file whose metadata hold a JSON header and the digests of everything.

Every byte is covered: those of a tensor by the tensor's digest, which stands in the header; those before the first
tensor by the header's own digest, taken with zeros in its place.
"""

import hashlib
import json
import math
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from safetensors.numpy import save as write_tensors

from gpssm._core._errors import FileError, UnknownVersionError, storage_error
from gpssm.data._regular import open_regular
from gpssm.files._atomic import write_atomically
from gpssm.files._tensors import NAMES, Tensors, check_offsets, is_possible, nbytes, read_tensors

VERSION = 1
MAX_HEADER = 4 * 2**20
"""A header of this size takes a hundred times as much memory when it is read."""
MAX_FILE = 4 * 2**30
LARGE = 2**24
"""Smaller files may be nearly empty on a disk that compresses them: their memory is no matter."""
_KEY, _ZEROS = "gpssm", "0" * 64
_MARK = rb'"{\"header_sha256\":\"'


@dataclass(frozen=True)
class Header:
    """What stands before the tensors."""

    version: int
    content: dict[str, Any]
    tensors: dict[str, Any]
    """For each tensor its dtype, shape and SHA-256."""
    size: int
    """Bytes of the whole file."""


def write(
    path: Path,
    kind: str,
    content: Mapping[str, Any],
    tensors: Tensors,
    *,
    overwrite: bool = True,
    follow: bool = True,
) -> None:
    """Write a file of this kind, atomically; through a symbolic link unless `follow` is False."""
    write_atomically(path, pack(kind, content, tensors), overwrite=overwrite, follow=follow)


def pack(kind: str, content: Mapping[str, Any], tensors: Tensors) -> bytes:
    """The bytes of a file."""
    arrays = {name: np.ascontiguousarray(array).reshape(np.shape(array)) for name, array in tensors.items()}
    header = {
        # First, so that its place can be found without parsing.
        "header_sha256": _ZEROS,
        "kind": kind,
        "version": VERSION,
        "tensors": {name: _entry(name, array) for name, array in arrays.items()},
        "content": content,
    }
    try:
        text = json.dumps(header, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise FileError(f"settings and other details must be plain JSON with finite numbers: {error}") from error
    data = write_tensors(arrays, metadata={_KEY: text})
    end = 8 + struct.unpack("<Q", data[:8])[0]
    if end > MAX_HEADER:
        raise FileError(f"the header would have {end} bytes, more than the {MAX_HEADER} allowed: give shorter settings")
    first = data.index(_MARK) + len(_MARK)
    digest = hashlib.sha256(data[:end]).hexdigest().encode()
    return data[:first] + digest + data[first + len(_ZEROS) :]


def _entry(name: str, array: np.ndarray) -> dict[str, Any]:
    code = NAMES.get(array.dtype.str[1:])
    if code is None:
        raise FileError(f"{name} has dtype {array.dtype}, which a file cannot hold")
    return {"dtype": code, "shape": list(array.shape), "sha256": _digest(array)}


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()).hexdigest()


def read_header(path: Path, kind: str, *, follow: bool = True) -> Header:
    """The header alone, checked; the tensors are not read."""
    with _opened(path, follow) as file:
        return _front(file, path, kind).header


def read(
    path: Path, kind: str, *, follow: bool = True, check: Callable[[Header], None] | None = None
) -> tuple[Header, Tensors]:
    """Header and tensors, every byte checked; `check` may refuse the header before the tensors are read.

    Memory is asked for once, for the tensors themselves. A symbolic link is refused if `follow` is False.
    """
    # One open file from beginning to end, so that no half of another one can slip in.
    with _opened(path, follow) as file:
        front = _front(file, path, kind)
        if check is not None:
            check(front.header)
        return front.header, read_tensors(file, front.length, front.table, front.header.tensors, path)


@contextmanager
def _opened(path: Path, follow: bool) -> Iterator[BinaryIO]:
    try:
        with open(path, "rb", opener=partial(open_regular, follow=follow)) as file:
            _check_size(os.fstat(file.fileno()), path)
            yield file
    except OSError as error:
        raise storage_error("read", path, error) from error


def _check_size(found: os.stat_result, path: Path) -> None:
    if found.st_size > MAX_FILE:
        raise FileError(f"{path} has {found.st_size} bytes, more than any file of gpssm: is it the right one?")
    # Holes take no space on a disk, but memory when they are read. Numbers that were learnt are no zeros.
    held = getattr(found, "st_blocks", found.st_size) * 512
    if found.st_size > LARGE and held < found.st_size // 8:
        raise FileError(
            f"{path} has {found.st_size} bytes, of which the disk holds {held}: nearly all of it is empty, and no "
            "model is. Use a copy of it, or fit the model again"
        )


@dataclass(frozen=True)
class _Front:
    """What stands before the tensors, and where they stand."""

    header: Header
    table: dict[str, Any]
    length: int


def _front(file: BinaryIO, path: Path, kind: str) -> _Front:
    size = os.fstat(file.fileno()).st_size
    prefix = file.read(8)
    length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
    if not 2 <= length <= min(MAX_HEADER, size - 8):
        raise FileError(_damaged(path, f"its {size} bytes do not begin with a header, or it was cut short"))
    text = file.read(length)
    table = _json(text, path)
    metadata = table.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_KEY), str):
        raise FileError(f"{path} is a safetensors file, but gpssm did not write it")
    header = _json(metadata[_KEY].encode(), path)
    # The rule for this digest holds for all versions: a damaged version number is damage, not another version.
    _check_digest(prefix + text, header.get("header_sha256"), path)
    if type(header.get("version")) is not int or header["version"] != VERSION:
        raise UnknownVersionError(
            f"{path} has format version {str(header.get('version'))[:20]}, and this gpssm reads version {VERSION}: "
            "install a later gpssm"
        )
    if header.get("kind") != kind:
        raise FileError(f"{path} holds a {str(header.get('kind'))[:40]}, and a {kind} was asked for")
    if not isinstance(header.get("content"), dict) or not isinstance(header.get("tensors"), dict):
        raise FileError(_damaged(path, "its header is incomplete"))
    ends = _check_table(table, header["tensors"], path)
    if 8 + length + ends != size:
        raise FileError(_damaged(path, f"it has {size} bytes and should have {8 + length + ends}"))
    return _Front(Header(VERSION, header["content"], header["tensors"], size), table, 8 + length)


def _json(text: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise FileError(_damaged(path, f"its header is not JSON ({error})")) from error
    if not isinstance(value, dict):
        raise FileError(_damaged(path, "its header is not a JSON object"))
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name occurs twice")
    return dict(pairs)


def _finite(text: str) -> float:
    """Python reads 1e400 as infinity."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large for a number")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _check_digest(front: bytes, digest: Any, path: Path) -> None:
    written = digest.encode() if isinstance(digest, str) and len(digest) == 64 else b""
    if len(written) != 64 or front.count(written) != 1:
        raise FileError(_damaged(path, "the digest of its header is missing"))
    if hashlib.sha256(front.replace(written, _ZEROS.encode())).hexdigest().encode() != written:
        raise FileError(_damaged(path, "its header does not have the digest that it gives"))


def _check_table(table: dict[str, Any], tensors: dict[str, Any], path: Path) -> int:
    """The table of safetensors and ours must say the same. Returns the number of bytes of all tensors."""
    if set(table) != set(tensors):
        raise FileError(_damaged(path, "its header lists other tensors than it holds; is it made from two files?"))
    sizes: dict[str, int] = {}
    for name, entry in tensors.items():
        held = table[name]
        agree = isinstance(entry, dict) and isinstance(held, dict)
        if not agree or any(entry.get(field) != held.get(field) for field in ("dtype", "shape")):
            raise FileError(_damaged(path, f"'{name}' has another type or shape than its header says"))
        if not is_possible(entry["dtype"], entry["shape"], MAX_FILE):
            raise FileError(_damaged(path, f"'{name}' has an impossible type or shape"))
        sizes[name] = nbytes(entry["dtype"], entry["shape"])
    if not check_offsets(table, sizes):
        raise FileError(_damaged(path, "its tensors overlap, or there are gaps between them"))
    return sum(sizes.values())


def _damaged(path: Path, why: str) -> str:
    return f"{path} is damaged or not a file of gpssm: {why}. Use a copy of it, or fit the model again"
