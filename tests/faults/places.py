"""Things in folders that are no files, and files that not everybody may read.

Each fault survives if it ends at once in an error of ours, and what a link points to is as it was.
"""

import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np

import gpssm
from gpssm.cli._config import sources
from gpssm.cli._outcome import UsageError
from gpssm.cli._predictions import write_csv
from gpssm.data import DataError
from gpssm.files import FileError, StorageError
from gpssm.readers import read, read_inputs
from gpssm.readers._read import column_names
from gpssm.reporting import Report, _write
from tests.reference.stored_systems import system

OURS = (DataError, FileError, StorageError, UsageError)
PATIENCE = 5.0
CHECKPOINT = "1-fit-000000900-000.ckpt"


class Waited(BaseException):
    """It would have waited for ever."""


@contextmanager
def _patience() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Waited

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _linked_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


THINGS: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a link to a pipe": _linked_pipe,
    "a socket": _socket,
    "a folder": Path.mkdir,
    "a device that never ends": lambda path: path.symlink_to("/dev/zero"),
    "a device that is empty": lambda path: path.symlink_to("/dev/null"),
    "a link to itself": lambda path: path.symlink_to(path.name),
}

READS: dict[str, Callable[[Path], object]] = {
    "load": gpssm.load,
    "describe": gpssm.describe,
    **{f"read {end}": lambda path: read(path, outputs="y") for end in ("csv", "npz", "mat", "parquet", "txt")},
    **{f"names {end}": column_names for end in ("csv", "npz", "mat", "parquet")},
    "inputs csv": lambda path: read_inputs(path, inputs="u"),
    "config toml": lambda path: sources(["--config", str(path)], ("fit",)),
}


@cache
def _model() -> gpssm.System:
    return system(network=False)


def _page(path: Path) -> None:
    with mock.patch.object(_write, "report_page", lambda page: "what a page holds takes long to draw"):
        _write.write(object.__new__(Report), path)


WRITES: dict[str, Callable[[Path], object]] = {
    "save": lambda path: gpssm.save(_model(), path),
    "table csv": lambda path: write_csv(path, [("a", {"y": np.ones(3)})]),
    "page html": _page,
}


def strange_things(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Pipes, sockets, devices, folders and endless links wherever a path is read or written."""
    _model()  # which takes its time, and is not what patience is for
    cases = [(thing, use) for thing in THINGS for use in READS | WRITES]
    for i in range(count):
        thing, use = cases[i] if i < len(cases) else cases[int(rng.integers(len(cases)))]
        place = folder / f"strange{i}"
        place.mkdir()
        path = place / f"a.{use.rpartition(' ')[2]}"
        THINGS[thing](path)
        before = sorted(found.name for found in place.iterdir())
        try:
            with _patience():
                (READS | WRITES)[use](path)
            yield False
        except OURS as error:
            yield len(str(error)) > 20 and sorted(found.name for found in place.iterdir()) == before
        except Waited:
            yield False


def _goes_on(folder: Path) -> int | None:
    with gpssm.Checkpoints(folder).open({}) as run:
        found = run.newest("1-fit")
        run.write("1-fit", 900, 0, {"step": 900}, {"a": np.ones(2)})
    return None if found is None else found[0]["step"]


def links_among_checkpoints(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Links and pipes under names that are known beforehand: nothing is emptied, overwritten or read through them."""
    for i in range(count):
        place, victim = folder / f"links{i}", folder / f"victim{i}"
        with gpssm.Checkpoints(place).open({}) as run:
            run.write("1-fit", 50, 0, {"step": 50}, {"a": np.ones(2)})
        precious = rng.bytes(1400)
        if i % 4 == 3:  # a good checkpoint, of somebody else
            with gpssm.Checkpoints(folder / f"other{i}").open({}) as run:
                run.write("1-fit", 900, 0, {"step": 666}, {"a": np.ones(2)})
            precious = (folder / f"other{i}" / CHECKPOINT).read_bytes()
        victim.write_bytes(precious)
        name = "lock" if i % 4 == 0 else CHECKPOINT
        (place / name).unlink(missing_ok=True)
        os.mkfifo(place / name) if i % 4 == 1 else (place / name).symlink_to(victim)
        try:
            with _patience():
                survived = _goes_on(place) == 50 and name != "lock"
        except StorageError:
            survived = name == "lock" or i % 4 == 1
        except Waited:
            survived = False
        yield survived and victim.read_bytes() == precious


def kept_modes(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Who may read a model, a table or a checkpoint may read the next one of that name, and nobody else."""

    def checkpoint(path: Path) -> None:
        with gpssm.Checkpoints(path.parent).open({}) as run:
            run.write("1-fit", 900, 0, {}, {"a": np.ones(2)})

    writers = [(write, "m") for write in WRITES.values()] + [(checkpoint, CHECKPOINT)]
    for i in range(count):
        write, name = writers[i % len(writers)]
        path = folder / f"mode{i}" / name
        path.parent.mkdir()
        write(path)
        mode = 0o400 | int(rng.integers(0o400))
        path.chmod(mode)
        write(path)
        yield stat.S_IMODE(path.stat().st_mode) == mode
