"""Free runs and predictions of a linear state-space model, against its moments in closed form."""

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.predict import Channels, LinearPredictor, LinearSystem, MeanOnly
from tests.reference.filtering import Filtered, kalman_filter
from tests.reference.kalman import LinearModel
from tests.reference.montecarlo import assert_covariance

STEPS, N_INIT, SAMPLES = 14, 5, 6000
MODEL = LinearModel(
    A=np.array([[0.8, 0.5], [-0.3, 0.6]]),
    B=np.array([[0.5, -0.2], [1.0, 0.3]]),
    c=np.array([0.1, -0.2]),
    Q=np.array([0.05, 0.02]),
    W=np.array([[1.0, 0.3], [0.4, 1.2]]),
    b=np.array([0.3, -0.1]),
    R=np.array([0.04, 0.1]),
)
MEAN, SCALE = np.array([100.0, -3.0]), np.array([10.0, 0.5])


def predictor() -> LinearPredictor:
    m = MODEL
    system = LinearSystem(m.A, m.B, m.c, m.W, m.b, np.diag(m.Q), m.R, np.zeros(2), np.eye(2))
    scaler = gpssm.Scaler(output_mean=MEAN, output_scale=SCALE, input_mean=np.ones(2), input_scale=np.full(2, 4.0))
    return LinearPredictor(system, scaler, Channels(("a", "b"), ("u", "v")))


def record() -> tuple[gpssm.Episode, np.ndarray, Filtered]:
    """A record in the user's units, its inputs in the model's, and what is known after each sample."""
    rng = np.random.default_rng(0)
    y, u = rng.standard_normal((STEPS, 2)), rng.standard_normal((STEPS, 2))
    names = {"output_names": ["a", "b"], "input_names": ["u", "v"]}
    episode = gpssm.Episode(y=y * SCALE + MEAN, u=4.0 * u + 1.0, **names)
    return episode, u, kalman_filter(MODEL, y, u, np.ones((STEPS, 2), dtype=bool))


def moved(mean: np.ndarray, covariance: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return MODEL.A @ mean + MODEL.B @ u + MODEL.c, MODEL.A @ covariance @ MODEL.A.T + np.diag(MODEL.Q)


def in_user_units(mean: np.ndarray) -> np.ndarray:
    return (MODEL.W @ mean + MODEL.b) * SCALE + MEAN


def test_a_free_run_has_the_moments_of_the_model():
    episode, u, known = record()
    run = predictor().simulate(episode, n_init=N_INIT, num_samples=SAMPLES, key=jr.key(0))
    mean, covariance = known.means[N_INIT - 1], known.covariances[N_INIT - 1]
    for step in range(STEPS - N_INIT):
        mean, covariance = moved(mean, covariance, u[N_INIT - 1 + step])
        signal = MODEL.W @ covariance @ MODEL.W.T * np.outer(SCALE, SCALE)
        assert_covariance(run.states[:, step], mean, covariance)
        assert_covariance(run.signals[:, step], in_user_units(mean), signal)
        assert_covariance(run.samples[:, step], in_user_units(mean), signal + np.diag(MODEL.R * SCALE**2))
    np.testing.assert_allclose(run.noise_std, np.sqrt(MODEL.R) * SCALE)


@pytest.mark.parametrize("horizon", [1, 3])
def test_predictions_start_from_the_filter_at_every_step(horizon):
    episode, u, known = record()
    run = predictor().predict(episode, horizon=horizon, num_samples=SAMPLES, key=jr.key(1))
    assert run.start == horizon and len(run) == STEPS - horizon
    for row in range(STEPS - horizon):
        mean, covariance = known.means[row], known.covariances[row]
        for step in range(horizon):
            mean, covariance = moved(mean, covariance, u[row + step])
        assert_covariance(run.states[:, row], mean, covariance)


def test_the_mean_run_is_the_recursion_without_noise():
    episode, u, known = record()
    run = predictor().simulate(episode, n_init=N_INIT, propagation=MeanOnly(), key=jr.key(0))
    mean = known.means[N_INIT - 1]
    for step in range(STEPS - N_INIT):
        mean = MODEL.A @ mean + MODEL.B @ u[N_INIT - 1 + step] + MODEL.c
        np.testing.assert_allclose(run.mean[step], in_user_units(mean), rtol=1e-10)
    ahead = predictor().predict(episode, horizon=1, propagation=MeanOnly(), key=jr.key(0))
    np.testing.assert_allclose(ahead.mean, [in_user_units(m) for m in known.predicted_means[1:]], rtol=1e-10)
