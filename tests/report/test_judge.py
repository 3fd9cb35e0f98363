"""The one place where models are run and scored."""

import numpy as np
import pytest

import gpssm
from gpssm.data._episodes import part_of
from gpssm.evaluate import judge
from gpssm.evaluate._judge import checked, default_n_init, judged_part
from tests.report.conftest import constant
from tests.report.linear_case import CONTEXT, KEY, records, system


def test_the_same_key_gives_the_same_numbers_and_another_does_not():
    episodes = records()
    one, same, other = (judge(constant(), episodes, seed=seed).free_run.facts() for seed in (1, 1, 2))
    assert one == same
    assert one["rmse"] == other["rmse"], "a constant has no spread of its own"
    assert one["crps"] != other["crps"]


def test_numbers_do_not_depend_on_what_else_is_asked():
    episodes = records()
    few, many = (judge(constant(), episodes, horizons=h, seed=KEY) for h in ((5,), (1, 5, 20)))
    assert many.horizons == (1, 5, 20)
    assert few.free_run.facts() == many.free_run.facts()
    np.testing.assert_array_equal(few.free_run.pit, many.free_run.pit)
    np.testing.assert_array_equal(few.scores[0].pit, many.scores[1].pit)


def test_nor_do_those_of_a_model_that_runs_once_for_all_horizons():
    episodes = records((30, 26), seed=3)
    few, many = (judge(system(), episodes, horizons=h, num_samples=24, seed=KEY) for h in ((5,), (1, 5)))
    for one, other in zip(few.predictions[5], many.predictions[5], strict=True):
        np.testing.assert_allclose(one.samples, other.samples, atol=1e-9)
    assert len(many.simulations[0].samples) == len(many.predictions[1][0].samples) == many.num_samples == 24


def test_padding_changes_nothing():
    """Records of unequal length are filled up to compile once; the fill must not be seen."""
    episodes = records()
    together = judge(system(), episodes, n_init=CONTEXT, seed=KEY).simulations[2]
    alone = system().simulate(episodes[2], n_init=CONTEXT, num_samples=200, seed=5)
    assert together.samples.shape == alone.samples.shape == (200, 90 - CONTEXT, 1)
    # Random numbers depend on the length, so the two agree within sampling error only.
    assert np.abs(together.mean - alone.mean).max() < 6 * np.sqrt(2 / 200) * alone.std.max()
    assert together.start == alone.start


def test_a_model_that_needs_more_context_gets_it(lagged_fit):
    short = records((12, 14))
    assert default_n_init(constant(), short) == 2
    assert default_n_init(lagged_fit.system, short) == 3


def test_settings_are_checked():
    episodes = records((30, 24), seed=6)
    assert default_n_init(system(), episodes) == 4
    assert checked(4, (1, 5, 25), episodes) == (1, 5)
    with pytest.raises(gpssm.DataError, match="n_init=24"):
        checked(24, (1,), episodes)
    with pytest.raises(gpssm.DataError, match="at least one step"):
        checked(4, (0,), episodes)
    with pytest.raises(gpssm.DataError, match="no records"):
        judged_part(part_of(()))


def test_long_records_are_cut():
    episodes = gpssm.Episodes.from_arrays(y=[np.random.default_rng(0).standard_normal(6000)] * 5)
    kept = judged_part(episodes)
    assert [len(e) for e in kept] == [5000] * 4
