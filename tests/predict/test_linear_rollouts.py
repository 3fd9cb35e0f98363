"""Free runs and k-step predictions of a linear-Gaussian model, whose moments are known in closed form."""

from dataclasses import replace

import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

import gpssm
from gpssm._core._params import cast
from gpssm.filters import EKF
from gpssm.predict import MeanOnly
from tests.reference.filtering import kalman_filter
from tests.reference.montecarlo import assert_covariance, assert_mean

N_INIT = 6


def _propagated(linear, first: int, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """Moments of x[first + horizon] given the outputs up to `first`."""
    filtered = kalman_filter(linear.reference, linear.y, linear.u, linear.observed)
    mean, covariance = filtered.means[first], filtered.covariances[first]
    for t in range(first, first + horizon):
        mean = linear.reference.A @ mean + linear.reference.B @ linear.u[t] + linear.reference.c
        covariance = linear.reference.A @ covariance @ linear.reference.A.T + np.diag(linear.reference.Q)
    return mean, covariance


def _in_user_units(linear, mean: np.ndarray) -> np.ndarray:
    scaler = linear.system.scaler
    return (linear.reference.W @ mean + linear.reference.b) * scaler.output_scale + scaler.output_mean


@pytest.fixture(scope="module")
def rollout(linear) -> gpssm.Rollout:
    return linear.system.simulate(linear.episode, n_init=N_INIT, num_samples=4000, key=jr.key(0))


def test_free_run_begins_after_the_samples_it_saw(linear, rollout):
    steps = len(linear.episode) - N_INIT
    assert rollout.start == N_INIT
    assert len(rollout) == steps
    assert rollout.samples.shape == rollout.signals.shape == (4000, steps, 2)
    assert rollout.states.shape == (4000, steps, 2)
    assert rollout.output_names == ("height", "speed")
    assert_allclose(rollout.time, 0.1 * np.arange(N_INIT, len(linear.episode)))


@pytest.mark.parametrize("step", [0, 1, 8, 18])
def test_free_run_has_the_moments_of_the_model(linear, rollout, step):
    mean, covariance = _propagated(linear, N_INIT - 1, 1 + step)
    assert_covariance(rollout.states[:, step], mean, covariance)
    scale = linear.system.scaler.output_scale
    noise = np.diag(linear.reference.R) * np.outer(scale, scale)
    spread = linear.reference.W @ covariance @ linear.reference.W.T * np.outer(scale, scale)
    assert_covariance(rollout.signals[:, step], _in_user_units(linear, mean), spread)
    assert_covariance(rollout.samples[:, step], _in_user_units(linear, mean), spread + noise)


def test_moments_of_a_rollout_include_the_measurement_noise(linear, rollout):
    mean, covariance = _propagated(linear, N_INIT - 1, 10)
    scale = linear.system.scaler.output_scale
    outputs = linear.reference.W @ covariance @ linear.reference.W.T + np.diag(linear.reference.R)
    assert_allclose(rollout.covariance[9], outputs * np.outer(scale, scale), rtol=0.2)
    assert_allclose(rollout.std[9], np.sqrt(np.diag(outputs)) * scale, rtol=0.06)
    low, high = rollout.interval(0.95)
    assert_allclose((high - low)[9], 2 * 1.96 * np.sqrt(np.diag(outputs)) * scale, rtol=0.08)
    assert_allclose(rollout.noise_std, np.sqrt(linear.reference.R) * scale)
    assert_allclose(rollout.mean[9], _in_user_units(linear, mean), atol=5.0 * (rollout.std[9] / 4000**0.5).max())


def test_trajectories_move_by_the_model(linear, rollout):
    """The increments along each sampled trajectory have the mean and noise of the transition."""
    before, after = rollout.states[:, 4], rollout.states[:, 5]
    expected = before @ linear.reference.A.T + linear.reference.B @ linear.u[N_INIT + 4] + linear.reference.c
    assert_covariance(after - expected, np.zeros(2), np.diag(linear.reference.Q))


@pytest.mark.parametrize("horizon", [1, 3])
def test_prediction_starts_from_the_filter_at_every_step(linear, horizon):
    predicted = linear.system.predict(linear.episode, horizon=horizon, num_samples=2000, key=jr.key(2))
    assert predicted.start == horizon
    assert len(predicted) == len(linear.episode) - horizon
    for row in (0, 7, len(predicted) - 1):
        mean, covariance = _propagated(linear, row, horizon)
        assert_covariance(predicted.states[:, row], mean, covariance)
        assert_mean(predicted.signals[:, row], _in_user_units(linear, mean))


def test_mean_prediction_is_the_filter_prediction(linear):
    filtered = kalman_filter(linear.reference, linear.y, linear.u, linear.observed)
    predicted = linear.system.predict(linear.episode, horizon=1, propagation=MeanOnly(), key=jr.key(0))
    expected = np.stack([_in_user_units(linear, mean) for mean in filtered.predicted_means[1:]])
    assert_allclose(predicted.mean, expected, rtol=1e-9)
    assert predicted.signals.shape[0] == 1, "a deterministic prediction is one trajectory"


def test_simulate_from_a_known_state_begins_with_that_state(linear):
    state, inputs = np.array([0.5, -1.0]), linear.episode.u[:9]
    free = linear.system.simulate_from(state, inputs=inputs, num_samples=3000, key=jr.key(4))
    assert free.start == 0
    assert len(free) == 9
    assert np.array_equal(free.states[:, 0], np.tile(state, (3000, 1)))
    covariance, mean = np.zeros((2, 2)), state
    for t in range(8):
        mean = linear.reference.A @ mean + linear.reference.B @ linear.u[t] + linear.reference.c
        covariance = linear.reference.A @ covariance @ linear.reference.A.T + np.diag(linear.reference.Q)
    assert_covariance(free.states[:, 8], mean, covariance)


def test_simulate_from_an_uncertain_state_draws_it(linear):
    state, chol = np.array([0.5, -1.0]), np.array([[0.6, 0.0], [-0.3, 0.2]])
    free = linear.system.simulate_from(state, chol=chol, inputs=linear.episode.u[:9], num_samples=3000, key=jr.key(4))
    assert_covariance(free.states[:, 0], state, chol @ chol.T)


def test_same_key_same_rollout(linear, rollout):
    again = linear.system.simulate(linear.episode, n_init=N_INIT, num_samples=4000, key=jr.key(0))
    other = linear.system.simulate(linear.episode, n_init=N_INIT, num_samples=4000, key=jr.key(1))
    assert np.array_equal(again.samples, rollout.samples)
    assert not np.array_equal(other.signals, rollout.signals)


def test_a_model_in_single_precision_predicts_in_single_precision(linear):
    """Close to the answers in double precision, through every door that takes numbers from the user."""
    system = replace(linear.system, model=cast(linear.system.model, np.float32))
    options = {"inputs": linear.episode.u[:9], "num_samples": 3000, "key": jr.key(4)}
    single, double = (s.simulate_from([0.5, -1.0], chol=0.1 * np.eye(2), **options) for s in (system, linear.system))
    assert single.states.dtype == np.float32
    assert_allclose(single.mean, double.mean, atol=5.0 * (double.std / 3000**0.5).max())
    online, reference = (s.online(reader=EKF()) for s in (system, linear.system))
    for t in range(5):
        sample = linear.episode.y_with_nan[t], linear.episode.u[t]
        mean, covariance = online.update(*sample)
        assert mean.dtype == covariance.dtype == np.float32
        assert_allclose(mean, reference.update(*sample)[0], atol=1e-4)
