"""Methods that go wrong, and work for pools. In a module of their own, which other processes can import."""

import os
import signal
from typing import Any

from gpssm.fitting import AbstractMethod, Fit, Prepared, Run


class Raises(AbstractMethod):
    """A method that fails, in one way or another."""

    error: Exception

    @property
    def deterministic(self) -> bool:
        return False

    def fit(self, data: Prepared, run: Run, *, key: Any) -> Fit:
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
