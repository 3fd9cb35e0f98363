"""Faults that meet a fit with checkpoints in one process."""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import equinox as eqx
import jax
import jax.random as jr
import numpy as np

import gpssm
from gpssm.files import Run, StorageError
from gpssm.fitting._stage import Recorder
from gpssm.fitting._progress import Status
from gpssm.optimisers._adam import Trained
from tests.faults.broken_numbers import _task
from tests.faults.disk import faulty_disk
from tests.fit.small_task import EVERY

STEPS = 4 * EVERY


def run_of(folder: Path, **options) -> gpssm.Checkpoints:
    """Checkpoints after every run of steps."""
    return gpssm.Checkpoints(folder, every_steps=EVERY, every_seconds=None, **options)


def trained(run: Run | None, progress=None) -> Trained:
    """The small task, with or without checkpoints."""
    task = _task()
    return gpssm.train(
        task.model,
        task.inference,
        task.data,
        optimiser=task.optimiser,
        steps=STEPS,
        progress=progress,
        recorder=None if run is None else Recorder(run, "1-fit"),
        key=jr.key(5),
    )


@cache
def unbroken() -> Trained:
    """The same without checkpoints and faults."""
    return trained(None)


def same_bits(a: Trained, b: Trained) -> bool:
    """Whether model, inference and the recorded bounds are equal to the bit."""

    def arrays(t: Trained) -> list:
        return [*jax.tree.leaves(eqx.filter((t.model, t.inference), eqx.is_array)), t.history.bound]

    return all(np.array_equal(x, y) for x, y in zip(arrays(a), arrays(b), strict=True))


def damaged_checkpoints(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Some checkpoints of a fit damaged or cut short, its end removed: the fit goes on from the last good one."""
    for i in range(count):
        place = folder / f"damaged{i}"
        with run_of(place).open({}) as run:
            trained(run)
        (place / "1-fit.ckpt").unlink()
        paths = sorted(place.glob("*.ckpt"))
        for path in paths[len(paths) - int(rng.integers(1, len(paths) + 1)) :]:
            data = bytearray(path.read_bytes())
            if rng.uniform() < 0.3:
                data = data[: int(rng.integers(len(data)))]
            else:
                data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
            path.write_bytes(data)
        with run_of(place).open({}) as run:
            yield same_bits(trained(run), unbroken())


def full_disk_while_training(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """The disk fills up at a random system call: training ends all the same, and says so once."""

    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for i in range(count):
        with run_of(folder / f"full{i}").open({}) as run, faulty_disk(int(rng.integers(8 * 3)), full):
            done = trained(run)
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


@dataclass
class Impatient:
    """Presses Ctrl-C after some calls."""

    calls: int

    def update(self, status: Status) -> None:
        self.calls -= 1
        if self.calls == 0:
            raise KeyboardInterrupt

    def say(self, message: str) -> None:
        pass


def interruptions(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Ctrl-C, with checkpoints too seldom to help: one is written all the same, and the fit goes on from it."""
    for i in range(count):
        seldom = gpssm.Checkpoints(folder / f"interrupted{i}", every_seconds=1e6)
        with seldom.open({}) as run:
            first = trained(run, Impatient(int(rng.integers(2, STEPS // EVERY + 1))))
        with seldom.open({}) as run:
            second = trained(run)
        went_on = any("went on from the checkpoint" in event for event in second.history.events)
        yield first.result is gpssm.Result.interrupted and went_on and same_bits(second, unbroken())
