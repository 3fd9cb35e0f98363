"""Small records for the command line, and how it is called."""

import json
from pathlib import Path

import numpy as np
import pytest

from gpssm.cli import main
from gpssm.cli._methods import METHODS

SMALL = {
    "kernel": "matern32",
    "inducing": 6,
    "hidden": 2,
    "steps": 10,
    "polish": 3,
    "network": 4,
    "tries": 1,
    "effort": "quick",
    "minutes": 5.0,
}
"""Small numbers for the flags of methods."""
RUNS, ROWS = 5, 24
"""Of five records the last is kept aside by default, and the others are four folds of equal shape, compiled once."""


def run(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> dict:
    """Run a command for machines and return what it said."""
    assert main([*map(str, words), "--json"]) == code, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


def small(method: str) -> list[str]:
    """The flags that a method uses, with small numbers."""
    return [word for name in METHODS[method].uses for word in (f"--{name}", str(SMALL[name]))]


def rows(steps: int, seed: int, gaps: tuple[int, ...] = ()) -> list[str]:
    """u,y of a system with one state; outputs are missing at `gaps`."""
    rng = np.random.default_rng(seed)
    state, lines = 0.0, []
    for t in range(steps):
        u = rng.uniform(-1.0, 1.0)
        y = "" if t in gaps else f"{state + 0.05 * rng.standard_normal():.5f}"
        lines.append(f"{u:.5f},{y}")
        state = 0.7 * state + u
    return lines


def write_record(path: Path, steps: int, seed: int, gaps: tuple[int, ...] = (), header: str = "u,y") -> Path:
    """One record in a file."""
    path.write_text("\n".join([header, *rows(steps, seed, gaps)]) + "\n", encoding="utf-8")
    return path


def write_runs(folder: Path, header: str = "u,y") -> tuple[list[str], Path]:
    """Five records, as words for the command line, and the last of them again: what is kept aside by default."""
    files = [write_record(folder / f"run{i}.csv", ROWS, i, header=header) for i in range(RUNS)]
    return [str(file) for file in files], files[-1]
