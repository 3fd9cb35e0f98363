"""What can go wrong with a file: what it holds, where it lies, and whether it belongs to this fit."""

import errno
from pathlib import Path
from typing import final


class FileError(ValueError):
    """The file is not what it should be: damaged, cut short, put together from two, of an unknown version, or no model
    file at all."""


@final
class UnknownVersionError(FileError):
    """The file is sound, but a later gpssm wrote it."""


@final
class StorageError(OSError):
    """The disk or the folder refused; what was there before is intact. The message says what to do."""


@final
class ResumeError(ValueError):
    """The checkpoints in the folder belong to a fit with other data, settings, versions or seed."""


_REMEDIES = {
    errno.ENOENT: "the folder or file does not exist: create the folder first, or correct the path",
    errno.ENOTDIR: "a part of the path is a file and not a folder: correct the path",
    errno.EISDIR: "this is a folder: name a file in it",
    errno.ENXIO: "this is a pipe, a socket or a device and not a file: name a file",
    errno.ENODEV: "this is a pipe, a socket or a device and not a file: name a file",
    errno.EACCES: "permission is missing: choose a folder of your own, or have the permissions changed",
    errno.EPERM: "permission is missing: choose a folder of your own, or have the permissions changed",
    errno.EROFS: "the disk is read-only: choose a folder on another one",
    errno.ENOSPC: "the disk is full: free some space or choose another disk, then save again",
    errno.EDQUOT: "your quota is used up: free some space or choose another disk, then save again",
    errno.EFBIG: "the file is larger than the system allows: raise the limit or choose another disk",
    errno.ELOOP: "this is a symbolic link, or a chain of them without end: remove it, or choose another place",
    errno.ENAMETOOLONG: "the name is too long: choose a shorter one",
    errno.EEXIST: "the file exists already: choose another name, or allow overwriting",
    errno.EIO: "the disk reports an error: choose another disk",
}


def storage_error(doing: str, path: Path, cause: OSError) -> StorageError:
    """The error to raise instead of `cause`, with the remedy in the message and its number kept."""
    remedy = _REMEDIES.get(cause.errno or 0, f"the system says: {cause.strerror or cause}")
    error = StorageError(f"cannot {doing} {path}: {remedy}")
    error.errno = cause.errno
    return error
