"""One writer for each folder of checkpoints."""

import errno
import os
import stat
import sys
from pathlib import Path

from gpssm._core._errors import StorageError, storage_error

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        # A byte far beyond the text, because Windows forbids others to read what is locked.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


# Python's `os.open` keeps the descriptor from child processes, which would otherwise hold the lock after the parent.
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Lock:
    """A lock file that holds the number of the process.

    The lock itself belongs to the operating system, which releases it when its process dies, however that happens: a
    file left by a dead process is simply taken over.
    """

    def __init__(self, path: Path):
        self._path = path
        try:
            # Whoever can put a link here could have any file of the user emptied.
            self._descriptor = os.open(path, _FLAGS, 0o666)
        except OSError as error:
            raise storage_error("lock", path, error) from error
        try:
            if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                raise storage_error("lock", path, OSError(errno.ENODEV, "not a file"))
            self._take()
        except BaseException:
            os.close(self._descriptor)
            raise

    def _take(self) -> None:
        try:
            _try_lock(self._descriptor)
        except (BlockingIOError, PermissionError) as error:
            holder = os.pread(self._descriptor, 20, 0).decode("ascii", "replace").strip() if os.name != "nt" else "?"
            raise StorageError(
                f"{self._path.parent} is in use by process {holder}: wait until it ends, or choose another folder"
            ) from error
        except OSError as error:
            raise storage_error("lock", self._path, error) from error
        try:
            os.ftruncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:
            raise storage_error("lock", self._path, error) from error

    def release(self) -> None:
        """Let others in. The file stays: to remove it could remove the lock of the next one."""
        os.close(self._descriptor)
