"""A control loop that never ends: the online filter fed for hours, with gaps, failing sensors and jumps.

A stretch of samples survives if every estimate was finite with a positive covariance, and no memory was kept.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.reference.small_system import trained

STRETCH = 1000
"""Samples that are judged together: the first of each is checked for memory."""
ALLOWED = 40.0
"""MiB that may come and go, whatever the number of samples."""


def soak(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """So many samples; each counts by itself."""
    online, x, held = trained().online(gate=8.0), 0.0, None
    for begin in range(0, count, STRETCH):
        size, fine = min(STRETCH, count - begin), []
        mode = int(rng.integers(4))
        for _ in range(size):
            u = rng.uniform(-1.5, 1.5)
            x = 0.7 * x + np.sin(2.0 * u) + 0.1 * rng.standard_normal()
            measured = x + 0.1 * rng.standard_normal()
            if mode == 1:
                measured = np.nan  # a cable that is off for a thousand samples
            elif mode == 2 and rng.uniform() < 0.05:
                measured = float(rng.choice([-1e90, 1e6, 0.0]))
            elif mode == 3 and rng.uniform() < 0.01:
                x = 5.0 * rng.standard_normal()
            mean, covariance = online.update([measured], [u])
            fine.append(bool(np.isfinite(mean).all() and abs(mean).max() < 1e3 and 0.0 < covariance[0, 0] < 1e3))
        held = _resident() if held is None else held
        flat = _resident() - held < ALLOWED
        yield from (flat and one for one in fine)


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
