"""Processes of a distributed fit that are killed. A fault survives if all others end by themselves within fifteen
seconds, say why, and leave a checkpoint from which the fit, started again, goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gpssm.files._checkpoints import KIND
from gpssm.files._container import read
from tests.scaling.test_dead_peer import EXIT_PEER_LOST, SOON, started
from tests.scaling.test_devices import free_port

PATIENCE = 240.0


def killed_peers(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """The process that computes, or the one that watches over it, of each of two in turn; then all start again."""
    for i in range(count):
        place = folder / f"peers{i}"
        place.mkdir()
        wrong = _killed(rng, place, victim=i % 2, worker=bool(i // 2 % 2))
        if wrong:
            print(f"kill {i} of a distributed run: {wrong}", file=sys.stderr, flush=True)
        yield not wrong


def _records(place: Path) -> list[str]:
    rng, names = np.random.default_rng(0), []
    for i in range(3):
        names.append(str(place / f"run{i}.csv"))
        np.savetxt(names[-1], rng.standard_normal((12, 2)), delimiter=",", header="u,y", comments="")
    return names


def _killed(rng: np.random.Generator, place: Path, *, victim: int, worker: bool) -> str:
    names = _records(place)
    code, seconds, said = _run(names, place, victim, worker, float(rng.uniform(0.0, 3.0)), resume=False)
    if code != EXIT_PEER_LOST:
        return f"the other ended with {code}: {said[-300:]}"
    if seconds > SOON:
        return f"the other ended after {seconds:.0f} s"
    checkpoints = _checkpoints(place)
    if not checkpoints:
        return "no checkpoint"
    header, tensors = read(checkpoints[-1], KIND)
    if not all(np.isfinite(tensor).all() for name, tensor in tensors.items() if name.startswith("state")):
        return "a checkpoint that is not finite"
    _, _, said = _run(names, place, victim, worker, 0.0, resume=True)
    went_on = f"went on from the checkpoint at step {header.content['step']}" in said
    return "" if went_on else f"did not go on: {said[-300:]}"


def _run(
    names: list[str], place: Path, victim: int, worker: bool, delay: float, *, resume: bool
) -> tuple[int | None, float, str]:
    """Two processes, one of which is killed once training is on: how and when the other ended, and what was said."""
    port, more = free_port(), {"resume": ""} if resume else {}
    running = [started(names, place, port, process, **more) for process in range(2)]
    try:
        until = time.monotonic() + PATIENCE
        # Only the first speaks; and what is killed before its first checkpoint, half a minute after it began, has
        # nothing to go on from.
        while "ELBO" not in (place / "0.log").read_text() or not _checkpoints(place):
            if any(process.poll() is not None for process in running) or time.monotonic() > until:
                return None, 0.0, (place / "0.log").read_text()
            time.sleep(0.1)
        time.sleep(delay)
        began = time.monotonic()
        _kill(running[victim], worker)
        try:
            code = running[1 - victim].wait(timeout=60)
        except subprocess.TimeoutExpired:
            code = None
        said = "".join((place / f"{process}.log").read_text() for process in range(2))
        return code, time.monotonic() - began, said
    finally:
        for process in running:
            _kill(process, worker=True)
            process.kill()
            process.wait()


def _checkpoints(place: Path) -> list[Path]:
    return sorted((place / "m.gpssm.checkpoints").glob("1.train-*.ckpt"))


def _kill(process: subprocess.Popen, worker: bool) -> None:
    """The command, or the process that it has started to compute."""
    if not worker:
        process.kill()
        return
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
    except (OSError, IndexError, ProcessLookupError):
        pass
