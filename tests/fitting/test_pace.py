"""The time that is left is that of steps: the compiler works once."""

import time

import pytest

from gpssm._core import _compiler_clock
from gpssm._core._compiler_clock import COMPILED, _heard
from gpssm.fitting import Run, Status


class Watching:
    """Keeps every status."""

    def __init__(self) -> None:
        self.statuses: list[Status] = []

    def update(self, status: Status) -> None:
        self.statuses.append(status)

    def say(self, message: str) -> None:
        """Nothing."""


def test_the_pace_leaves_out_what_the_compiler_took(monkeypatch):
    monkeypatch.setattr(_compiler_clock, "_worked", _compiler_clock.Intervals())  # without what other tests compiled
    told = Watching()
    stage = Run(progress=told).stage("train")
    stage._began -= 100.0
    _heard(COMPILED, 90.0)
    stage.update(Status("train", 20, 60, 0.0, 20 / 100))
    assert told.statuses[-1].steps_per_second == pytest.approx(2.0, rel=0.05)
    assert told.statuses[-1].eta == pytest.approx(20.0, rel=0.05)
    stage._first_step = 10  # gone on from a checkpoint
    stage.update(Status("train", 20, 60, 0.0, 20 / 100))
    assert told.statuses[-1].steps_per_second == pytest.approx(1.0, rel=0.05)


def test_before_the_first_step_nothing_is_known_better():
    told = Watching()
    stage = Run(progress=told).stage("train")
    stage._began = time.monotonic() - 1.0
    stage.update(Status("train", 0, 60, 0.0, 3.0))
    assert told.statuses[-1].steps_per_second == 3.0
