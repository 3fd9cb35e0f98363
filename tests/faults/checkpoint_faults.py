"""Faults that meet a fit with checkpoints in one process."""

import errno
import os
import signal
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jax.random as jr
import numpy as np

import gpssm
from gpssm.files import StorageError
from gpssm.fitting import Run, Silent, Status
from gpssm.fitting._interrupt import Interruption
from gpssm.fitting._store import Store
from gpssm.optimisers import Trained
from tests.faults.disk import CALLS, faulty_disk
from tests.optimisers.small_task import EVERY, equal, small_task

STEPS = 4 * EVERY


def run_of(folder: Path, **options) -> gpssm.Checkpoints:
    """Checkpoints after every run of steps."""
    return gpssm.Checkpoints(folder, every_steps=EVERY, every_seconds=None, **options)


def trained(store: Store | None, progress=None) -> Trained:
    """The small task, with or without checkpoints."""
    progress = Silent() if progress is None else progress
    with Interruption(progress.say) as interruption:
        run = Run(progress, store, interruption=interruption)
        return small_task().train(small_task().adam(STEPS), run=run, key=jr.key(5))


@cache
def unbroken() -> Trained:
    """The same without checkpoints and faults."""
    return trained(None)


def same_bits(a: Trained, b: Trained) -> bool:
    """Whether model, inference and the recorded bounds are equal to the bit."""
    return equal(a.tree, b.tree) and np.array_equal(a.history.bound, b.history.bound)


def damaged_checkpoints(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Some checkpoints of a fit damaged or cut short, its end removed: the fit goes on from the last good one."""
    for i in range(count):
        place = folder / f"damaged{i}"
        with run_of(place).open({}) as store:
            trained(store)
        (place / "train.ckpt").unlink()
        paths = sorted(place.glob("*.ckpt"))
        for path in paths[len(paths) - int(rng.integers(1, len(paths) + 1)) :]:
            data = bytearray(path.read_bytes())
            if rng.uniform() < 0.3:
                data = data[: int(rng.integers(len(data)))]
            else:
                data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
            path.write_bytes(data)
        with run_of(place).open({}) as store:
            yield same_bits(trained(store), unbroken())


def full_disk_while_training(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """The disk fills up at a random system call, for a moment or for good: training ends all the same, and says so
    once."""

    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for i in range(count):
        at = int(rng.integers(3 * CALLS))
        with run_of(folder / f"full{i}").open({}) as store, faulty_disk(at, full, always=bool(i % 2)):
            done = trained(store)
        said = [event for event in done.history.events if "the disk is full" in event]
        yield same_bits(done, unbroken()) and len(said) == 1


def second_writers(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """A second fit in a folder in use is refused; once the first has ended it is not."""
    for i in range(count):
        place = folder / f"two{i}"
        refused = False
        with run_of(place).open({}):
            try:
                with run_of(place).open({}):
                    pass
            except StorageError as error:
                refused = str(os.getpid()) in str(error)
        # The file of a dead process, with a number that belongs to nobody.
        (place / "lock").write_text("999999999\n", encoding="utf-8")
        with run_of(place).open({}):
            yield refused


def other_processes(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """A second process in the same folder is refused, whichever came first, and takes over when the first is killed."""
    for i in range(count):
        place = folder / f"process{i}"
        if i % 2:
            with run_of(place).open({}):
                refused, _ = _in_another_process(place, write=False)
                yield refused == "refused"
            continue
        word, child = _in_another_process(place, write=True)
        try:
            refused = ""
            try:
                with run_of(place).open({}):
                    pass
            except StorageError as error:
                refused = str(error)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        with run_of(place).open({}) as store:
            found = store.newest("1-fit")
        yield word == "open" and str(child) in refused and found is not None and found[0]["step"] == 50


def _in_another_process(place: Path, *, write: bool) -> tuple[str, int]:
    """What a new process says that opens the folder, and its number. Having written, it stays in the folder."""
    ear, mouth = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the child of the fork uses nothing that has threads
        child = os.fork()
    if child == 0:
        try:
            with run_of(place).open({}) as store:
                if write:
                    store.write("1-fit", 50, 0, {"step": 50}, {"a": np.ones(3)})
                os.write(mouth, b"open")
                signal.pause() if write else None
        except StorageError:
            os.write(mouth, b"refused")
        finally:
            os._exit(0)
    os.close(mouth)
    word = os.read(ear, 20).decode()
    os.close(ear)
    if not write:
        os.waitpid(child, 0)
    return word, child


@dataclass
class Impatient:
    """Presses Ctrl-C after some signs of life."""

    calls: int
    answered: bool = False

    def update(self, status: Status) -> None:
        self.calls -= 1
        if self.calls == 0:
            os.kill(os.getpid(), signal.SIGINT)

    def say(self, message: str) -> None:
        self.answered |= message.startswith("Interrupted")


def interruptions(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Ctrl-C, with checkpoints too seldom to help: it is answered, a checkpoint is written all the same, and the fit
    goes on from it."""
    for i in range(count):
        seldom = gpssm.Checkpoints(folder / f"interrupted{i}", every_seconds=1e6)
        user = Impatient(int(rng.integers(1, STEPS // EVERY)))
        with seldom.open({}) as store:
            first = trained(store, user)
        with seldom.open({}) as store:
            second = trained(store)
        went_on = any("went on from the checkpoint" in event for event in second.history.events)
        stopped = first.result is gpssm.Result.interrupted and user.answered
        yield stopped and went_on and same_bits(second, unbroken())
