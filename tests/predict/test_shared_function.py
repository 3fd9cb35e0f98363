"""Predictions from every step of a record: how their starts are drawn, and that they follow one function."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF

from gpssm._core._params import cast
from gpssm.models import GPSSM, LinearGaussian, SparseGP
from gpssm.predict import AbstractPropagation, IndependentSteps, MeanOnly, Pathwise
from gpssm.predict._run import ahead
from tests.reference.compiling import constant
from tests.reference.linear_case import linear_case
from tests.reference.montecarlo import assert_covariance, assert_mean
from tests.reference.transition_cases import with_q

ROWS, SAMPLES, SPREAD = 8, 4000, 0.1
pytestmark = pytest.mark.system


def copies(*parts: np.ndarray) -> list[np.ndarray]:
    """The same for every sample."""
    return [np.broadcast_to(part, (SAMPLES, *part.shape)) for part in parts]


@pytest.mark.parametrize("horizon", [1, 2])
def test_each_row_starts_with_the_covariance_that_it_was_given(horizon):
    """Factors with strong correlation, so that one that is transposed is another covariance altogether."""
    linear, rng = linear_case(), np.random.default_rng(0)
    model = linear.reference
    means, u = rng.standard_normal((ROWS, 2)), rng.standard_normal((ROWS + 2, 1))
    chols = np.tile(np.array([[1.5, 0.0], [1.4, 0.2]]), (ROWS, 1, 1)) * rng.uniform(0.5, 2.0, (ROWS, 1, 1))
    states, outputs = ahead(
        linear.system.model, None, *copies(means, chols), u, np.asarray([horizon]), 2, Pathwise(), SAMPLES, jr.key(3)
    )
    states, outputs = np.asarray(states)[:, 0], np.asarray(outputs)[:, 0]
    for row in range(ROWS):
        mean, covariance = means[row], chols[row] @ chols[row].T
        for step in range(horizon):
            mean = model.A @ mean + model.B @ u[row + step] + model.c
            covariance = model.A @ covariance @ model.A.T + np.diag(model.Q)
        assert_covariance(states[:, row], mean, covariance)
    np.testing.assert_allclose(outputs, states @ model.W.T + model.b, atol=1e-12)


@constant
def drifting() -> GPSSM:
    """x[t+1] = x[t] + c, where all that is known of the (nearly) constant c is that it is N(0, SPREAD^2)."""
    kernel = RBF(lengthscale=jnp.full(1, 1e3), variance=SPREAD**2)
    transition = SparseGP.create(kernel, jnp.zeros((1, 1)), state_dim=1, noise=1e-12)
    prior = with_q(transition, np.zeros((1, 1)), np.ones((1, 1, 1)))
    return cast(GPSSM(prior, LinearGaussian.first_states(1, 1, noise=1e-6), 1), np.float64)


def errors(propagation: AbstractPropagation, horizon: int) -> np.ndarray:
    """By how much each row is off its known start, sample by sample."""
    starts = np.linspace(-2.0, 2.0, ROWS)[:, None]
    states, _ = ahead(
        drifting(),
        None,
        *copies(starts, np.zeros((ROWS, 1, 1))),
        np.zeros((ROWS + 3, 0)),
        np.asarray([horizon]),
        3,
        propagation,
        SAMPLES,
        jr.key(4),
    )
    return np.asarray(states)[:, 0, :, 0] - starts[:, 0]


@pytest.mark.parametrize("horizon", [1, 3])
def test_rows_follow_one_drawn_function(horizon):
    """What is not known about the function is the same error in every row, and grows with each step."""
    off = errors(Pathwise(), horizon)
    np.testing.assert_allclose(off, np.tile(off[:, :1], (1, ROWS)), atol=0.05 * SPREAD)
    assert_mean(off[:, 0] ** 2, (horizon * SPREAD) ** 2)
    assert_mean(off[:, 0], 0.0)


def test_rows_with_a_function_drawn_at_each_step_share_nothing():
    off = errors(IndependentSteps(), 3)
    assert_covariance(off, np.zeros(ROWS), 3.0 * SPREAD**2 * np.eye(ROWS))


def test_rows_of_the_mean_function_are_where_it_leads():
    np.testing.assert_allclose(errors(MeanOnly(), 2), 0.0, atol=1e-12)
