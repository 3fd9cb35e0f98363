"""Candidates that go wrong, and work for pools. In a module of their own, which other processes can import."""

import os
import signal
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Raises:
    """A candidate that fails, in one way or another."""

    error: Exception

    def __call__(self, episodes: Any, *, key: Any) -> Any:
        raise self.error


def square(number: int) -> int:
    return number**2


def square_or_die(number: int) -> int:
    """Three kills its process, as a lack of memory would."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2


def threads(_: int) -> tuple[str | None, ...]:
    """What limits the threads of the process."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC", "XLA_FLAGS")
    return tuple(os.environ.get(name) for name in names)
