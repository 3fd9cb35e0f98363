"""Methods that go wrong, and work for pools. In a module of their own, which other processes can import."""

import os
import signal
import time
from pathlib import Path
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


def interrupts_the_others(task: tuple[int, Path]) -> int:
    """Leaves a line, and after a while, for one of them, Ctrl-C for all other processes of the pool."""
    number, log = task
    with log.open("a") as file:
        file.write(f"{number}\n")
    if number == 1:
        time.sleep(1.0)
        threads = Path(f"/proc/{os.getppid()}/task").glob("*/children")
        for other in {int(pid) for thread in threads for pid in thread.read_text().split()} - {os.getpid()}:
            os.kill(other, signal.SIGINT)
        time.sleep(0.5)
    return number


def sleeps(seconds: float) -> int:
    """Says who it is, so that it can be looked for."""
    print(os.getpid(), flush=True)
    time.sleep(seconds)
    return os.getpid()


def threads(_: int) -> tuple[str | None, ...]:
    """What limits the threads of the process."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC", "XLA_FLAGS")
    return tuple(os.environ.get(name) for name in names)
