"""Disks and folders that refuse.

Each fault survives if it ends in a StorageError, the old file (or, once complete, the new one) is whole, and nothing is
left behind.
"""

import errno
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gpssm.files import StorageError, _atomic

ERRORS = (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO, errno.EDQUOT)
CALLS = 8
"""System calls of one atomic write: open, write, fsync, close, replace; open, fsync, close of the folder."""


class Faulty:
    """The module `os`, in which the n-th call that touches the disk, or each from there on, does something else
    first."""

    _COUNTED = ("open", "write", "fsync", "close", "replace")

    def __init__(self, at: int, fault: Callable[[], None], always: bool = False):
        self._left, self._fault, self._always = at, fault, always

    def __getattr__(self, name: str) -> Any:
        function = getattr(os, name)
        if name not in self._COUNTED:
            return function

        def counted(*args: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left == -1 or (self._always and self._left < 0):
                if name == "close":
                    function(*args, **options)  # as the system does: a failed close has closed
                self._fault()
            return function(*args, **options)

        return counted


@contextmanager
def faulty_disk(at: int, fault: Callable[[], None], *, always: bool = False) -> Iterator[None]:
    """Atomic writes within meet the fault at their n-th system call, or at each from there on."""
    before = _atomic.os
    _atomic.os = Faulty(at, fault, always)  # type: ignore[assignment]
    try:
        yield
    finally:
        _atomic.os = before


def _raises(number: int) -> Callable[[], None]:
    def fault() -> None:
        raise OSError(number, os.strerror(number))

    return fault


def _whole(folder: Path, old: bytes, new: bytes, at: int) -> bool:
    """Up to the renaming (call 4) the old file, after it the new one; and no other file in the folder."""
    expected = old if at <= 4 else new
    return [path.name for path in folder.iterdir()] == ["m"] and (folder / "m").read_bytes() == expected


def disk_faults(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """An error of the system at each call of an atomic write in turn."""
    place = folder / "disk"
    place.mkdir(exist_ok=True)
    for i in range(count):
        at, number = i % CALLS, ERRORS[(i // CALLS) % len(ERRORS)]
        old, new = rng.bytes(int(rng.integers(1, 5000))), rng.bytes(5000)
        (place / "m").write_bytes(old)
        try:
            with faulty_disk(at, _raises(number)):
                _atomic.write_atomically(place / "m", new)
            yield False
        except StorageError as error:
            yield _whole(place, old, new, at) and error.errno == number


def killed_writes(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """SIGKILL at each call of an atomic write in turn: the file is the old one or the new one, whole."""
    place = folder / "killed"
    place.mkdir(exist_ok=True)
    for i in range(count):
        at = i % CALLS
        old, new = rng.bytes(int(rng.integers(1, 5000))), rng.bytes(5000)
        (place / "m").write_bytes(old)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the child of the fork uses nothing that has threads
            child = os.fork()
        if child == 0:
            with faulty_disk(at, lambda: os.kill(os.getpid(), signal.SIGKILL)):
                _atomic.write_atomically(place / "m", new)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        content = (place / "m").read_bytes()
        yield killed and content == (old if at <= 4 else new)
        for path in place.iterdir():  # a dead process cannot clear away its temporary file
            path.unlink()
