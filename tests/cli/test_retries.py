"""A poor optimum is noticed on held-out data, and the next seed is tried."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import gpssm
from gpssm.cli import _run_fit
from gpssm.cli._score import Scores
from gpssm.cli._train import Recipe

RUNS = gpssm.Episodes.from_arrays(y=np.arange(20.0))
RECIPE = Recipe("rbf", 4, 2, 1, 0, 0, seed=7)
POOR, GOOD = Scores(1.0, 20.0, -3.0, 0.5), Scores(0.1, 90.0, 1.0, 0.95)
OVERCONFIDENT = Scores(0.2, 80.0, -1.0, 0.4)


@pytest.mark.parametrize(
    ("scores", "ends", "tries", "seed", "result"),
    [
        ([GOOD], ["finished"], 3, 7, "finished"),
        ([POOR, GOOD], ["finished"] * 2, 3, 8, "finished"),
        ([POOR, OVERCONFIDENT, POOR], ["finished"] * 3, 3, 8, "finished"),
        ([POOR], ["finished"], 1, 7, "finished"),
        ([POOR, None], ["finished", "interrupted"], 3, 7, "interrupted"),
    ],
)
def test_seeds_are_tried_until_one_is_good(monkeypatch, scores, ends, tries, seed, result):
    places: list[Path] = []

    def learn(train, held_out, states, recipe, folder, progress, devices):
        places.append(folder)
        return object.__new__(gpssm.System)

    judged = iter(scores)
    monkeypatch.setattr(_run_fit, "learn", learn)
    monkeypatch.setattr(_run_fit, "ending", lambda system: gpssm.Result[ends[len(places) - 1]])
    monkeypatch.setattr(_run_fit, "free_run_scores", lambda *args, **options: next(judged))
    screen = Console(quiet=True)
    (chosen,) = _run_fit._tried(RUNS, RUNS, range(1, 2), RECIPE, Path("place"), screen, tries, None)
    assert (chosen.seed, chosen.result.name) == (seed, result)
    assert places == [Path("place"), Path("place/seed-8"), Path("place/seed-9")][: len(scores)]
