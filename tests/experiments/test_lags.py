"""Opponents have the lags that training data ask for."""

import jax.random as jr
import numpy as np
import pytest

import gpssm
from experiments._lags import best_lags, evidence, same_targets
from gpssm.predict.autoregression import Lags


def _trials(count=3, steps=25):
    """An oscillation that is seen without its velocity, and hardly any noise: one sample does not tell what follows."""
    rng = np.random.default_rng(0)
    phases, time = rng.uniform(0.0, 2.0 * np.pi, count), np.arange(steps)
    y = [np.sin(0.9 * time + phase) + 1e-3 * rng.standard_normal(steps) for phase in phases]
    return gpssm.Episodes.from_arrays(y=y)


@pytest.mark.parametrize("lags", [1, 2, 3])
def test_all_candidates_have_the_same_targets(lags):
    train = _trials()
    _, targets = Lags(lags, 0, False).table(same_targets(train, lags, 3))
    np.testing.assert_array_equal(targets, Lags(3, 0, False).table(train)[1])


def test_two_lags_are_chosen_where_one_does_not_tell_the_velocity():
    train, key = _trials(), jr.key(0)
    candidates = {lags: gpssm.GPNARX(lags, iterations=20) for lags in (1, 2)}
    assert best_lags(train, candidates, key=key) == "2"
    assert evidence(train, candidates[1], 2, key=key) < evidence(train, candidates[2], 2, key=key) - 50.0


def test_nothing_is_fitted_where_there_is_no_choice():
    assert best_lags(_trials(), {1: gpssm.GPNARX(1, kernel="no kernel at all")}, key=jr.key(0)) == "1"
