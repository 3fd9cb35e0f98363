"""Whether a page says when a linear model would have done."""

from dataclasses import replace

import numpy as np
import pytest

import gpssm
from gpssm.reporting._finding import Grade
from gpssm.reporting._simpler import linear_is_enough
from tests.methods.test_linear import record


def learnt() -> tuple[gpssm.Fit, gpssm.Episodes]:
    train = gpssm.Episodes([record(120, seed=seed) for seed in (1, 2)])
    return gpssm.fit(train, gpssm.Subspace(2), progress=gpssm.Silent()), gpssm.Episodes([record(80, seed=3)])


@pytest.mark.system
@pytest.mark.parametrize(("error", "grade"), [(1.0, Grade.bad), (0.5, Grade.good), (0.9, Grade.caution)])
def test_the_linear_model_that_was_tried_is_compared(error: float, grade: Grade, monkeypatch):
    linear, test = learnt()
    other = gpssm.fit(gpssm.Episodes([record(120, seed=1)]), gpssm.ARX(2), progress=gpssm.Silent())
    judged = gpssm.judge(linear.system, test, seed=0)
    # The model that was kept errs so many times as much as the linear one.
    score = judged.scores[-1]
    kept = replace(judged, scores=(*judged.scores[:-1], replace(score, rmse=error * score.rmse)))
    found = linear_is_enough(replace(other, parts=(linear, other)), kept)
    assert found is not None and found.grade is grade
    assert f"{1.0 / error:.2g} times" in found.text
    assert bool(found.advice) == (grade is not Grade.good)


def test_nothing_is_said_where_there_is_nothing_to_compare_with():
    linear, test = learnt()
    judged = gpssm.judge(linear.system, test, seed=0)
    assert linear_is_enough(linear.system, judged) is None
    assert linear_is_enough(replace(linear, parts=(linear,)), judged) is None, "it is the linear model itself"
    other = gpssm.fit(gpssm.Episodes([record(60, seed=1)]), gpssm.Constant(), progress=gpssm.Silent())
    assert linear_is_enough(other, judged) is None


@pytest.mark.system
def test_the_page_of_an_automatic_fit_has_the_answer(tmp_path):
    linear, test = learnt()
    other = gpssm.fit(gpssm.Episodes([record(120, seed=1)]), gpssm.ARX(2), progress=gpssm.Silent())
    page = gpssm.report(replace(other, parts=(linear, other)), test, tmp_path / "page.html", seed=0)
    assert page.verdict.grade("Is it better than a linear model") in (Grade.bad, Grade.caution, Grade.good)
    assert "Is it better than a linear model?" in (tmp_path / "page.html").read_text()
    assert np.isfinite(page.free_run.fit_overall)
