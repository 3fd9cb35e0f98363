"""Predictions that do not depend on the past."""

import numpy as np

import gpssm
from gpssm.methods import Constant, PreviousEpisode
from tests.reference.fitting import learnt


def test_constant_predicts_mean_and_spread_of_what_was_observed():
    y = np.array([1.0, np.nan, 3.0, 5.0])
    model = learnt(gpssm.Episodes.from_arrays(y=y), Constant())
    run = model.simulate(gpssm.Episode(y=np.zeros(6)), n_init=2, num_samples=4000, seed=0)
    assert run.start == 2 and len(run) == 4
    np.testing.assert_allclose(run.mean, 3.0)
    np.testing.assert_allclose(run.std, np.nanstd(y))
    assert abs(run.samples.std() / np.nanstd(y) - 1.0) < 0.05
    assert len(model.forecast(gpssm.Episode(y=np.zeros(6)), steps=3, seed=0)) == 3


def test_previous_episode_is_copied_step_by_step():
    earlier, last = np.arange(5.0), np.arange(5.0) + 0.5
    model = learnt(gpssm.Episodes.from_arrays(y=[earlier, last]), PreviousEpisode())
    run = model.simulate(gpssm.Episode(y=np.zeros(7)), n_init=1, num_samples=3, seed=0)
    np.testing.assert_array_equal(run.mean[:, 0], [1.5, 2.5, 3.5, 4.5, 4.5, 4.5])
    np.testing.assert_allclose(run.noise_std, 0.5)


def test_a_copy_ahead_is_that_of_the_step_it_is_for():
    """Whatever the horizon, step t of a record is predicted by step t of the one that is copied."""
    model = learnt(gpssm.Episodes.from_arrays(y=[np.arange(7.0)]), PreviousEpisode())
    for horizon in (1, 3):
        ahead = model.predict(gpssm.Episode(y=np.zeros(7)), horizon=horizon, num_samples=2, seed=0)
        assert ahead.start == horizon
        np.testing.assert_array_equal(ahead.mean[:, 0], np.arange(7.0)[horizon:])


def test_the_spread_of_a_single_record_is_its_own():
    y = np.array([1.0, 2.0, 6.0])
    run = learnt(gpssm.Episodes.from_arrays(y=y), PreviousEpisode()).forecast(gpssm.Episode(y=y), steps=2, seed=0)
    np.testing.assert_allclose(run.noise_std, y.std())
    np.testing.assert_array_equal(run.mean[:, 0], [6.0, 6.0])
