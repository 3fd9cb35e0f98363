"""Writing a file so that at every moment either the old one or the new one is there, whole."""

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

from gpssm._core._errors import storage_error
from gpssm._core._interrupt import unbroken
from gpssm.files._place import place

# File systems on which a folder cannot be flushed say one of these.
_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF}


def write_atomically(path: Path, data: bytes, *, overwrite: bool = True, follow: bool = True) -> None:
    """Write a temporary file beside `path`, flush it to the disk, and give it its name.

    Whatever fails, an old file stays as it was and nothing is left behind. After a crash of the machine the new file
    is either there completely or not at all. Who may read the old file may read the new one, and nobody else.

    Through a symbolic link the file it points to is replaced, not the link; unless `follow` is False, for places where
    somebody else may have put the link.
    """
    path = Path(os.path.realpath(place(path))) if follow else place(path)
    # Systems limit the bytes of a name, and a letter may have four of them.
    short = os.fsencode(path.name)[:100].decode(errors="ignore")
    temporary = path.with_name(f".{short}.{secrets.token_hex(8)}.tmp")
    try:
        mode = _mode(path, follow)
        if mode is not None and not overwrite:
            raise FileExistsError(errno.EEXIST, "the file exists")
        with unbroken:
            _write(temporary, data, mode)
            os.replace(temporary, path)
    except OSError as error:
        _discard(temporary)
        raise storage_error("write", path, error) from error
    except BaseException:
        # Also an interruption from the keyboard leaves nothing behind.
        _discard(temporary)
        raise
    try:
        _sync_folder(path.parent)
    except OSError as error:
        raise storage_error("make sure on the disk of", path, error) from error


def _mode(path: Path, follow: bool) -> int | None:
    """Who may read and write the file that is there; None if there is none, or a link that is to be replaced."""
    try:
        found = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found):
        if follow:  # links were followed, and this one leads to itself
            raise OSError(errno.ELOOP, "a link to itself")
        return None
    if not stat.S_ISREG(found):
        raise OSError(errno.EISDIR if stat.S_ISDIR(found) else errno.ENODEV, "not a file")
    return stat.S_IMODE(found)


def _write(path: Path, data: bytes, mode: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666 if mode is None else 0o600)
    try:
        if mode is not None and os.name != "nt":
            os.fchmod(descriptor, mode)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows has no such call; a rename is recorded by the file system itself.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)
