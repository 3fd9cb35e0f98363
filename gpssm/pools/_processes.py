"""Processes of this machine."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from types import FrameType
from typing import TypeVar, final

from gpssm._core._interrupt import Interruption
from gpssm.pools._base import AbstractPool, Lost

T = TypeVar("T")
R = TypeVar("R")


@final
@dataclass(frozen=True)
class ProcessPool(AbstractPool):
    """Fresh processes on this machine, each with a fixed number of threads.

    A script that uses it needs `if __name__ == "__main__":`, because every process imports it. Where a process dies, by
    lack of memory for example, its task is lost and the others are done.
    """

    # The same bits come out of however many, but not of another number of threads: no part of what makes a fit the
    # same fit.
    workers: int = field(repr=False)
    threads: int = 1
    """Threads of BLAS and of XLA in each process. More threads than cores in all are slower than fewer."""

    def __repr__(self) -> str:
        return f"ProcessPool(workers={self.workers}, threads={self.threads})"

    def __post_init__(self) -> None:
        if self.workers < 1 or self.threads < 1:
            raise ValueError(f"workers={self.workers}, threads={self.threads}: need at least one of each")

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R | Lost]]:
        """As they are done."""
        left = set(range(len(tasks)))
        try:
            for i, result in self._together(function, tasks):
                left.discard(i)
                yield i, result
        except BrokenProcessPool:
            # One of them died and took the rest along; nobody says which. Each of the rest gets a process of its own,
            # unless it died of the Ctrl-C that was meant for all of them.
            if not Interruption.wanted():
                yield from self._apart(function, tasks, sorted(left))

    def _together(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        with _environment(self.threads):
            executor = _executor(self.workers)
            # Processes start when they get work, and take over the environment of that moment.
            futures = {executor.submit(function, task): i for i, task in enumerate(tasks)}
        try:
            yield from _as_they_come(futures)
        finally:
            executor.shutdown(wait=True, cancel_futures=True)

    def _apart(
        self, function: Callable[[T], R], tasks: Sequence[T], which: Sequence[int]
    ) -> Iterator[tuple[int, R | Lost]]:
        def alone(task: T) -> R | Lost:
            with _executor(1) as executor:
                try:
                    return executor.submit(function, task).result()
                except BrokenProcessPool:
                    return Lost("its process died, perhaps for lack of memory")

        with _environment(self.threads), ThreadPoolExecutor(self.workers) as threads:
            yield from _as_they_come({threads.submit(alone, tasks[i]): i for i in which})


def _executor(workers: int) -> ProcessPoolExecutor:
    # A fork would copy the locks of JAX's threads, and hang.
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_begin)


def _begin() -> None:
    """In each process, before its first task. Ctrl-C, which all processes of a terminal hear, is for those that have a
    task: one that waits for its next would die of it. And none outlives the process that it works for."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _not_for_us)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _not_for_us(number: int, frame: FrameType | None) -> None:
    """Hear and do nothing; fits that begin later take the signal for themselves."""


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _as_they_come(futures: dict[Future[R], int]) -> Iterator[tuple[int, R]]:
    for future in as_completed(futures):
        yield futures[future], future.result()


@contextmanager
def _environment(threads: int) -> Iterator[None]:
    """Variables for processes that start meanwhile; libraries read them once, when they are imported."""
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
    wanted: dict[str, str] = {name: str(threads) for name in limits}
    if threads == 1:
        wanted["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
