"""What is uncertain about a free run of a linear autoregression, against its moments in closed form."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.predict import Autoregression, Channels, IndependentSteps, Lags, MeanOnly, Pathwise
from gpssm.predict.autoregression import LinearRegression
from tests.reference.montecarlo import assert_covariance, assert_mean

LAG, NOISE, STEPS, SAMPLES = 0.9, np.array([0.04, 0.25]), 9, 4000
SCALE = np.array([10.0, 0.5])


def regression(chol: np.ndarray) -> LinearRegression:
    """Two outputs, the second of which follows the first; no inputs."""
    weights = np.array([[LAG, 0.3], [0.0, 0.5], [0.1, -0.2]])
    return LinearRegression(jnp.asarray(weights), jnp.asarray(chol), jnp.asarray(NOISE), 1, None)


def free_run(chol: np.ndarray, propagation) -> gpssm.Rollout:
    nothing = np.zeros(0)
    scaler = gpssm.Scaler(output_mean=np.zeros(2), output_scale=SCALE, input_mean=nothing, input_scale=nothing)
    system = Autoregression(regression(chol), Lags(1, 0, False), scaler, Channels(("a", "b"), ()), 0.0)
    episode = gpssm.Episode(y=np.array([[1.0, -0.5]]) * SCALE, output_names=["a", "b"])
    return system.forecast(episode, steps=STEPS, num_samples=SAMPLES, propagation=propagation, key=jr.key(0))


@pytest.mark.system
def test_noise_is_fed_back():
    """With known coefficients, the k-th output has the covariance that k noises have left behind."""
    run = free_run(np.zeros((3, 3)), Pathwise())
    weights = np.asarray(regression(np.zeros((3, 3))).weights)
    mean, covariance = np.array([1.0, -0.5]), np.zeros((2, 2))
    for k in range(STEPS):
        mean, signal = weights[:2].T @ mean + weights[2], weights[:2].T @ covariance @ weights[:2]
        covariance = signal + np.diag(NOISE)
        assert_covariance(run.signals[:, k] / SCALE, mean, signal)
        assert_covariance(run.samples[:, k] / SCALE, mean, covariance)


@pytest.mark.system
def test_a_mean_run_feeds_back_no_noise():
    run = free_run(np.zeros((3, 3)), MeanOnly())
    assert np.array_equal(run.signals, run.samples)
    assert run.signals[0, 1, 0] / SCALE[0] == pytest.approx(LAG * (LAG * 1.0 + 0.1) + 0.1)


def spread_of_coefficients() -> np.ndarray:
    return np.array([[0.3, 0.0, 0.0], [-0.25, 0.1, 0.0], [0.2, 0.1, 0.4]])


def test_drawn_coefficients_have_the_covariance_of_the_posterior():
    """That of chol times the noise of the output, and those of one output tell nothing about those of another."""
    chol = spread_of_coefficients()
    drawn = regression(chol).draw(20_000, np.random.default_rng(1)) - np.asarray(regression(chol).weights)
    for output in range(2):
        assert_covariance(drawn[:, :, output], np.zeros(3), NOISE[output] * chol @ chol.T)
    assert_mean(drawn[:, :, None, 0] * drawn[:, None, :, 1], np.zeros((3, 3)))


def test_the_variance_at_a_point_is_that_of_the_drawn_coefficients():
    chol, rows = spread_of_coefficients(), np.array([[0.7, -1.2, 1.0], [-0.1, 0.4, 1.0]])
    wanted = [row @ chol @ chol.T @ row * NOISE for row in rows]
    np.testing.assert_allclose(regression(chol).variance(rows), wanted, rtol=1e-12)


@pytest.mark.system
@pytest.mark.parametrize("propagation", [Pathwise(), IndependentSteps()], ids=lambda p: type(p).__name__)
def test_the_first_step_has_the_spread_of_the_coefficients(propagation):
    chol, row = spread_of_coefficients(), np.array([1.0, -0.5, 1.0])
    run = free_run(chol, propagation)
    known = np.diag(row @ chol @ chol.T @ row * NOISE)
    mean = row @ np.asarray(regression(chol).weights)
    assert_covariance(run.signals[:, 0] / SCALE, mean, known)
    assert_covariance(run.samples[:, 0] / SCALE, mean, known + np.diag(NOISE))
