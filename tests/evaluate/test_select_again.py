"""A selection that was broken off goes on with the fits that it had made."""

from pathlib import Path

import numpy as np
import pytest

import gpssm
from gpssm.evaluate import Blocks, Selection
from gpssm.fitting import Status
from gpssm.fitting import _search as searches
from gpssm.pools import ProcessPool
from tests.methods.cases import records

pytestmark = pytest.mark.system  # it kills, and trains


class Killed(BaseException):
    """Ends a selection as a kill would."""


class KillsAfter:
    """Ends it when it hears of a trial."""

    def __init__(self, trials: int):
        self.trials = trials

    def update(self, status: Status) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        if message.startswith(f"{self.trials} of"):
            raise Killed


METHODS = {"constant": gpssm.Constant(), "linear": gpssm.Linear(1, iterations=5)}


def selected(folder: Path | None = None, **options) -> Selection:
    checkpoints = None if folder is None else gpssm.Checkpoints(folder, every_steps=1)
    return gpssm.select(
        METHODS, records(), folds=Blocks(2), n_init=3, num_samples=5, checkpoints=checkpoints, **options
    )


def test_fits_that_were_made_are_not_made_again(tmp_path: Path, monkeypatch):
    made = []
    search = searches.minimise

    def counted(objective, *args, **options):
        made.append(1)
        return search(objective, *args, **options)

    monkeypatch.setattr(searches, "minimise", counted)
    unbroken = selected()
    every = len(made)
    assert every > 0
    with pytest.raises(Killed):
        # Two trials of a constant, and the first of the linear model.
        selected(tmp_path / "c", progress=KillsAfter(3))
    broken = len(made) - every
    again = selected(tmp_path / "c")
    assert len(made) - every == every, "each fit is made once, before or after the kill"
    assert 0 < broken < every
    assert again.trials == unbroken.trials
    for ours, theirs in zip(again.trials, unbroken.trials, strict=True):
        np.testing.assert_array_equal(ours.held_out.missed, theirs.held_out.missed)


def test_another_selection_is_refused_in_the_same_folder(tmp_path: Path):
    selected(tmp_path / "c")
    with pytest.raises(gpssm.files.ResumeError, match="seeds"):
        selected(tmp_path / "c", seeds=3)


def test_checkpoints_need_one_process(tmp_path: Path):
    with pytest.raises(ValueError, match="leave pool out"):
        selected(tmp_path / "c", pool=ProcessPool(2))
