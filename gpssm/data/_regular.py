"""Opening files, and nothing else that has a name in a folder."""

import errno
import os
import stat


def open_regular(path: str | os.PathLike[str], flags: int = os.O_RDONLY, *, follow: bool = True) -> int:
    """Open a regular file; also the `opener` of Python's `open`.

    To open a pipe would be to wait for ever, a terminal or a tape drive may do something when it is opened, and a
    device never ends. All of them are refused with ENODEV before they are opened, and folders with EISDIR. Unless
    `follow` is True, a symbolic link is refused with ELOOP.
    """
    _check(os.stat(path, follow_symlinks=follow).st_mode)
    extra = getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    descriptor = os.open(path, flags | extra)
    try:
        # Somebody may have put another thing there in the meantime.
        _check(os.fstat(descriptor).st_mode)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check(mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "a symbolic link")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.ENODEV, "not a file")
