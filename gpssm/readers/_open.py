"""Opening a record: what is no file is refused in a sentence, and nothing is waited for."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gpssm.data import DataError
from gpssm.data._regular import open_regular

_REASONS = {
    errno.ENOENT: ": there is no such file; check the path",
    errno.ENOTDIR: ": a part of the path is a file and not a folder; check the path",
    errno.EISDIR: " is a folder; name the files in it, as in FOLDER/*.csv",
    errno.ENODEV: ": this is a pipe, a socket or a device; write what it gives into a file, and name that",
    errno.EACCES: ": permission to read it is missing; have the permissions changed",
    errno.EPERM: ": permission to read it is missing; have the permissions changed",
    errno.ELOOP: ": a chain of symbolic links without end; name the file itself",
    errno.ENAMETOOLONG: ": the name is too long for the system; check the path",
}


@contextmanager
def opened(path: Path, shown: str) -> Iterator[BinaryIO]:
    """The file for reading; `shown` is what complaints call it."""
    try:
        descriptor = open_regular(path)
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f": cannot be read ({error.strerror}); check the disk")
        raise DataError(shown + reason.replace("FOLDER", shown)) from error
    with open(descriptor, "rb") as file:
        yield file


def named(path: str | Path) -> Path:
    """The path, unless it holds a zero byte, at which names end for the system."""
    if "\0" in str(path):
        raise DataError(f"{str(path)!r}: the name holds a zero byte, and no file has such a name; correct it")
    return Path(path)


@contextmanager
def decoding(shown: str, kind: str, remedy: str) -> Iterator[None]:
    """Around the decoders of others, which answer damaged bytes with any error there is."""
    try:
        yield
    except DataError:
        raise
    except MemoryError as error:
        raise DataError(f"{shown}: this {kind} file claims more data than memory holds; {remedy}") from error
    except Exception as error:
        raise DataError(f"{shown}: not a readable {kind} file ({type(error).__name__}: {error}); {remedy}") from error


MAX_UNPACKED = 2**29
"""Bytes of the wanted columns of one file, 67 million numbers: a compressed file may unpack to a thousand times its
size."""


def check_unpacked(size: int, shown: str) -> None:
    """Refuse what would fill the memory, before it is unpacked."""
    if size > MAX_UNPACKED:
        raise DataError(
            f"{shown}: the wanted columns unpack to {size} bytes, more than the {MAX_UNPACKED} that are read; cut the "
            "record into several files, or thin it out"
        )
