"""What is not known about the function: one error for the whole trajectory, a fresh one at each step, or none."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF

import gpssm
from gpssm._core._params import LowerTriangular, cast
from gpssm.models import GPSSM, LinearGaussian, SparseGP
from gpssm.predict import Channels, IndependentSteps, MeanOnly, Pathwise

STEPS, SAMPLES, SPREAD = 10, 2000, 0.1


@pytest.fixture(scope="module")
def drifting() -> gpssm.System:
    """x[t+1] = x[t] + c, where all that is known of the (nearly) constant c is that it is N(0, SPREAD^2)."""
    kernel = RBF(lengthscale=jnp.full(1, 1e3), variance=SPREAD**2)
    transition = SparseGP.create(kernel, jnp.zeros((1, 1)), state_dim=1, noise=1e-12)
    prior = SparseGP(
        transition.kernels,
        transition.inducing,
        jnp.zeros((1, 1)),
        LowerTriangular.of(jnp.ones((1, 1, 1))),
        transition.noise,
        transition.mean,
        whitened=True,
    )
    model = GPSSM(prior, LinearGaussian.first_states(1, 1, noise=1e-6), 1)
    nothing = np.zeros(0)
    scaler = gpssm.Scaler(output_mean=np.zeros(1), output_scale=np.ones(1), input_mean=nothing, input_scale=nothing)
    return gpssm.System(cast(model, np.float64), scaler, Channels(("position",), ()))


def _spread(system: gpssm.System, propagation) -> np.ndarray:
    free = system.simulate_from([2.0], steps=STEPS + 1, num_samples=SAMPLES, propagation=propagation, key=jr.key(0))
    assert free.states.shape == (SAMPLES, STEPS + 1, 1)
    assert abs(free.states[:, -1].mean() - 2.0) < 5.0 * free.states[:, -1].std() / SAMPLES**0.5
    return free.states[:, :, 0].std(axis=0)


def _assert_close(spread: np.ndarray, expected: np.ndarray) -> None:
    # The standard error of a standard deviation of n normal draws is its share 1 / sqrt(2 n).
    assert np.all(np.abs(spread - expected) <= 4.0 * expected / np.sqrt(2.0 * SAMPLES) + 1e-5)


@pytest.mark.system
def test_pathwise_errors_add_up(drifting):
    _assert_close(_spread(drifting, Pathwise()), SPREAD * np.arange(STEPS + 1))


def test_independent_errors_average_out(drifting):
    _assert_close(_spread(drifting, IndependentSteps()), SPREAD * np.sqrt(np.arange(STEPS + 1)))


def test_the_mean_knows_no_error(drifting):
    free = drifting.simulate_from([2.0], steps=STEPS + 1, propagation=MeanOnly(), key=jr.key(0))
    assert np.array_equal(free.states, np.full((1, STEPS + 1, 1), 2.0))
