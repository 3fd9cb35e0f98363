"""Which of two polished starts is kept."""

from dataclasses import replace

import numpy as np
import pytest

import gpssm
from gpssm._core._history import History
from gpssm.fitting import Run
from gpssm.methods import _polished
from tests.reference.small_system import records


def _ended(bounds: list[float], result: gpssm.Result = gpssm.Result.converged) -> gpssm.Fit:
    made = gpssm.fit(records(), gpssm.Constant(), progress=gpssm.Silent())
    return replace(made, result=result, history=History(1.0, bound=np.asarray(bounds)))


@pytest.mark.parametrize("failed", [False, True])
def test_starts_are_compared_by_where_they_ended(failed):
    """Not by what few nodes promised before a finer rule, nor by what was reached before all was lost."""
    few = _ended([0.0, 5.0])
    finer = _ended([1.0], gpssm.Result.diverged if failed else gpssm.Result.converged).following(few)
    other = _ended([0.0, 2.0])
    assert _polished._higher(finer, other, Run()).bound == 2.0
    assert _polished._higher(other, finer, Run()).bound == 2.0
