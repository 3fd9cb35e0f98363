"""The noisy cart-pole is what its protocol says, and its paired differences are those of its rows."""

import jax.random as jr
import numpy as np
import pytest

from experiments import noisy_cart_pole
from experiments._noisy_cart_pole import SENSOR_SD, SYSTEM, TrueFilter, force_variance, noisy_study
from experiments._results import Results
from gpssm.systems import step

ALL, SOME = (0, 1, 2, 3), (0, 3)


@pytest.fixture(scope="module")
def study():
    return noisy_study(100, ALL, train=6, tests=12)


def test_sensors_err_as_they_should(study):
    errors = np.concatenate([test.measured - test.states for test in study.tests])
    np.testing.assert_allclose(errors.std(axis=0), SENSOR_SD, rtol=4 / np.sqrt(2 * len(errors)))
    np.testing.assert_allclose(errors.mean(axis=0) / SENSOR_SD, 0.0, atol=4 / np.sqrt(len(errors)))


def test_the_random_force_moves_the_states_as_much_as_is_said(study):
    moved = [
        after - step(SYSTEM, before, control)
        for test in study.tests
        for before, control, after in zip(test.states[:-1], test.episode.u[:-1], test.states[1:], strict=True)
    ]
    count = len(moved)
    np.testing.assert_allclose(np.mean(np.square(moved), axis=0), force_variance(study), rtol=5 * np.sqrt(2 / count))


def test_cases_see_the_same_motion_and_held_out_episodes_are_training_episodes(study):
    hidden = noisy_study(100, SOME, train=6, tests=12)
    inner = noisy_study(100, ALL, train=4, tests=2)
    for one, other in zip(study.tests, hidden.tests, strict=True):
        np.testing.assert_array_equal(one.states, other.states)
        np.testing.assert_array_equal(one.episode.y[:, SOME], other.episode.y)
    # Of another number of episodes side by side, so that some versions of the compiler round otherwise.
    for test, episode in zip(inner.tests, study.train[4:], strict=True):
        np.testing.assert_allclose(test.episode.y, episode.y, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(inner.train[3].u, study.train[3].u)


def test_another_seed_is_another_motion(study):
    assert not np.allclose(noisy_study(101, ALL, train=1, tests=1).train[0].u, study.train[0].u)


@pytest.mark.system
@pytest.mark.parametrize("observed", [ALL, SOME])
def test_the_true_filter_knows_more_than_the_last_measurement(observed):
    study = noisy_study(100, observed, train=1, tests=12)
    columns, filtered, measured, inside = list(observed), [], [], []
    for i, test in enumerate(study.tests):
        run = TrueFilter(study).simulate(test.episode, n_init=10, num_samples=400, key=jr.key(i))
        truth = test.states[10, columns]
        filtered.append(run.signals[:, 0].mean(axis=0) - truth)
        measured.append(step(SYSTEM, test.measured[9], test.episode.u[9])[columns] - truth)
        low, high = run.interval(0.95)
        inside.append(np.mean((low < test.episode.y[10:]) & (test.episode.y[10:] < high)))
    assert np.all(np.mean(np.square(filtered), axis=0) < 0.7 * np.mean(np.square(measured), axis=0))
    assert 0.9 < np.mean(inside) < 0.99


def test_paired_differences_are_ours_minus_theirs(tmp_path):
    results = Results("noisy_cart_pole", {}, tmp_path)
    ours, theirs = [0.5, 0.7, 0.6], [0.9, 0.8, 1.0]
    for seed, values in enumerate(zip(ours, theirs, strict=True)):
        for method, value in zip(("gpssm network", "argp"), values, strict=True):
            results.run("observed", method, seed, lambda value=value: {"tip_error": value})
    (entry,) = noisy_cart_pole.paired(results)
    gaps = np.subtract(ours, theirs)
    assert (entry["opponent"], entry["metric"], entry["seeds"]) == ("argp", "tip_error", 3)
    assert entry["difference"] == pytest.approx(gaps.mean())
    assert entry["standard_error"] == pytest.approx(np.sqrt(np.sum((gaps - gaps.mean()) ** 2) / 2 / 3))
