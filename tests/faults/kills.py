"""SIGKILL during training. A fault survives if the fit, called again, ends with the bits of an unbroken one."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

import gpssm
from tests.faults.child import STAGES, learn

ROOT = Path(__file__).resolve().parents[2]
KILLS_PER_RUN = 4
REST = 0.1
LATEST = 1.0
"""Seconds after a sign of life at which it is killed at the latest."""


@cache
def unbroken() -> gpssm.System:
    """The fit that nobody interrupts, and that writes no checkpoints."""
    return learn(None, gpssm.Silent())


def same_bits(a: gpssm.System, b: gpssm.System) -> bool:
    """Whether model, network and the recorded bounds are equal to the bit."""

    def arrays(s: gpssm.System) -> list:
        history = s.history
        assert history is not None
        return [*jax.tree.leaves(eqx.filter((s.model, s.recognition), eqx.is_array)), history.bound, history.held_out]

    return all(np.array_equal(x, y) for x, y in zip(arrays(a), arrays(b), strict=True))


def _start(folder: Path) -> subprocess.Popen:
    environment = os.environ | {"JAX_ENABLE_X64": "0"}
    environment.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder.parent / "compiled"))
    environment.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
    command = [sys.executable, "-m", "tests.faults.child", str(folder), str(folder.with_suffix(".gpssm")), str(REST)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def _kill_once(rng: np.random.Generator, folder: Path, stage: int) -> bool:
    """Start or resume, and kill at a random moment once this stage, or a later one, is on. Says whether it was still
    running."""
    child = _start(folder)
    assert child.stdout is not None
    for line in child.stdout:
        if line.strip() in STAGES[stage:]:
            break
    time.sleep(float(rng.uniform(0.0, LATEST)))
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    return child.returncode == -signal.SIGKILL


def killed_fits(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """Several kills in one fit, in one stage after the other, then let it end. Every kill of a fit that ends right has
    been survived."""
    tried = 0
    for run in range(2 * count):
        planned = min(KILLS_PER_RUN, count - tried)
        if planned == 0:
            return
        place = folder / f"run{run}"
        stages = sorted(int(stage) for stage in rng.integers(len(STAGES), size=planned))
        kills = sum(_kill_once(rng, place, stage) for stage in stages)
        child = _start(place)
        child.communicate()
        survived = child.returncode == 0 and same_bits(gpssm.load(place.with_suffix(".gpssm")), unbroken())
        tried += kills
        yield from [survived] * kills
