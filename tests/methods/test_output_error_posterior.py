"""The posterior of an output-error fit and what is learnt from it, against dense Gaussian algebra.

The residuals are made linear in the parameters by hand: a design matrix takes the place of the derivatives. Then the
joint posterior is a Gaussian that can be written down from the other side, by conditioning the prior on the data as in
Kriging, and a sparse GP with the conditional of its inducing values given all else must come out.
"""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from numpy.testing import assert_allclose

import gpssm
from gpssm._core._params import Positive, val
from gpssm.methods.output_error._levenberg import Optimum
from gpssm.methods.output_error._noise import split_noise
from gpssm.methods.output_error._parameters import Frame, Parameters, flat, linearised, residuals
from gpssm.methods.output_error._problem import FREEDOM, Problem
from gpssm.methods.output_error._records import Records, correlation_time
from gpssm.models.emission import LinearGaussian
from gpssm.models.transition._stable import StableMatrices
from tests.reference.compiling import constant

DIMS, SIZE, ROWS, STEPS = 2, 4, 40, 60
PRIOR = {
    "state_change": 0.3,
    "control_matrix": 0.3,
    "offset": 0.1,
    "emission": 0.5,
    "log_scales": 0.5,
    "values": 1.0,
    "starts": 1.0,
}
"""Prior standard deviations, as the method states them."""


@constant
def parameters() -> Parameters:
    rng = np.random.default_rng(0)
    emission = LinearGaussian(jnp.asarray(rng.standard_normal((1, DIMS))), jnp.zeros(1), Positive.of(jnp.ones(1)))
    return Parameters(
        jax.device_put(0.1 * rng.standard_normal((DIMS, DIMS))),
        jax.device_put(rng.standard_normal((DIMS, 1))),
        jax.device_put(0.1 * rng.standard_normal(DIMS)),
        emission,
        jax.device_put(np.full(DIMS + 1, 0.3)),
        jax.device_put(rng.standard_normal((DIMS, SIZE))),
        jax.device_put(rng.standard_normal((2, DIMS))),
    )


def named() -> np.ndarray:
    """The name of the part that each entry of the vector of parameters belongs to."""
    parts = parameters()
    return np.concatenate([np.repeat(name, ravel_pytree(getattr(parts, name))[0].size) for name in PRIOR])


def prior() -> np.ndarray:
    return np.diag([PRIOR[name] ** 2 for name in named()])


@constant
def design() -> np.ndarray:
    """Derivatives of the residuals in units of the noise, such that all parameters are told apart badly."""
    rng = np.random.default_rng(1)
    size = len(named())
    return rng.standard_normal((ROWS, size)) @ (0.5 * np.eye(size) + 0.3 * rng.standard_normal((size, size)))


@constant
def posterior() -> np.ndarray:
    """Covariance of all parameters given the data: that of a Gaussian conditioned on J p + e, e of unit variance."""
    P, J = prior(), design()
    return P - P @ J.T @ np.linalg.solve(J @ P @ J.T + np.eye(ROWS), J @ P)


@constant
def problem() -> Problem:
    rng = np.random.default_rng(2)
    frame = Frame(
        jax.device_put(rng.standard_normal((SIZE, DIMS + 1))),
        jax.device_put(np.array([0.3, 0.9])),
        StableMatrices.around(0.6 * np.eye(DIMS) + 0.1 * rng.standard_normal((DIMS, DIMS))),
    )
    y, u = rng.standard_normal(STEPS), rng.standard_normal(STEPS)
    records = Records.of(gpssm.Episodes([gpssm.Episode(y=y[:35], u=u[:35]), gpssm.Episode(y=y[35:], u=u[35:])]))
    optimum = Optimum(flat(parameters()), 0.0, design().T @ design(), 1.0)
    return Problem(parameters(), parameters(), frame, records, np.ones(1), 1.0, optimum, 1.0)


def places(state: int) -> np.ndarray:
    """Where the inducing values of a state stand in the vector."""
    return np.flatnonzero(named() == "values").reshape(DIMS, SIZE)[state]


def misses() -> np.ndarray:
    return np.asarray(residuals(problem().parameters, problem().frame, problem().records))


def given_by_data() -> float:
    """Degrees of freedom of a linear smoother: the trace of the matrix that takes the data to their prediction."""
    J, P = design(), prior()
    return float(np.trace(J @ P @ J.T @ np.linalg.inv(J @ P @ J.T + np.eye(ROWS))))


@pytest.mark.system
def test_inducing_values_of_a_state_have_their_covariance_given_all_else():
    model = problem().model()
    S = posterior()
    for state in range(DIMS):
        here = places(state)
        rest = np.setdiff1d(np.arange(len(S)), here)
        # A block of a Gaussian given the others.
        expected = S[np.ix_(here, here)] - S[np.ix_(here, rest)] @ np.linalg.solve(
            S[np.ix_(rest, rest)], S[np.ix_(rest, here)]
        )
        chol = np.asarray(val(model.transition.q_chol))[state]
        assert_allclose(chol @ chol.T, expected, rtol=1e-8, atol=1e-10)
        assert not np.allclose(expected, S[np.ix_(here, here)], rtol=0.05), "marginals are something else"
    assert_allclose(np.asarray(model.transition.q_mean), np.asarray(parameters().values))
    process, measured = split_noise(problem().parameters, problem().frame, problem().records, problem()._noise())
    assert process > 1e-9
    assert_allclose(np.asarray(model.transition.noise_variance()), process, rtol=1e-8)
    assert_allclose(np.asarray(model.emission.noise_variance()), measured, rtol=1e-8)
    for state, kernel in enumerate(model.transition.kernels):
        assert_allclose(val(kernel.variance), np.asarray(problem().frame.amplitudes)[state] ** 2)
        assert_allclose(val(kernel.lengthscale), np.exp(np.asarray(parameters().log_scales)))


def test_what_the_data_determine_are_the_degrees_of_freedom_of_a_linear_smoother():
    assert problem()._determined() == pytest.approx(given_by_data(), rel=1e-9)


def test_the_noise_is_that_of_the_degrees_of_freedom_that_are_left():
    left = STEPS - given_by_data()
    assert left > FREEDOM * STEPS, "the floor must not matter here"
    assert problem()._noise() == pytest.approx((misses() ** 2).sum() / left, rel=1e-9)


def test_amplitudes_follow_what_the_data_say_about_the_values():
    """MacKay: the squares of the values, each of unit variance beforehand, over how many of them the data determine."""
    told = problem().reweighed()
    values, amplitudes = np.asarray(parameters().values), np.asarray(problem().frame.amplitudes)
    factors = []
    for state in range(DIMS):
        determined = SIZE - np.trace(posterior()[np.ix_(places(state), places(state))])
        factors.append(np.sqrt((values[state] ** 2).sum() / determined))
    assert all(0.5 < factor < 2.0 for factor in factors), "the limits must not matter here"
    assert_allclose(np.asarray(told.frame.amplitudes), amplitudes * factors, rtol=1e-8)
    assert_allclose(np.asarray(told.parameters.values), values / np.array(factors)[:, None], rtol=1e-8)


def test_weights_count_residuals_that_last_as_fewer():
    lasting = correlation_time(misses(), problem().records)
    told = replace(problem()).weighed(3.0)
    assert told.time == pytest.approx(lasting)
    freedom = 1.0 - lasting * 3.0 / STEPS
    assert freedom > FREEDOM
    assert told.variances == pytest.approx((misses() ** 2).sum() / (STEPS * freedom), rel=1e-9)
    trusting = problem().trusting()
    assert trusting.time == 1.0
    assert trusting.variances == pytest.approx((misses() ** 2).sum() / STEPS, rel=1e-9)
    assert problem().error() == pytest.approx(np.sqrt((misses() ** 2).mean() * len(misses()) / STEPS), rel=1e-9)


@pytest.mark.system
def test_the_search_ends_at_the_mode_and_knows_the_curvature_there():
    """Gradient and curvature of the log-posterior by differences, with the noise and the time it was given."""
    start = replace(problem(), variances=np.array([0.7]), time=2.5, optimum=None, damping=1.0)
    found = start.search(200)
    at, unravel = found.optimum.at, ravel_pytree(parameters())[1]
    scale = np.sqrt(0.7 * 2.5)

    def missed(vector: np.ndarray) -> np.ndarray:
        return np.asarray(residuals(unravel(jnp.asarray(vector)), start.frame, start.records)).ravel() / scale

    steps = 1e-5 * np.eye(len(at))
    slopes = np.stack([(missed(at + step) - missed(at - step)) / 2e-5 for step in steps], axis=1)
    assert_allclose(found.optimum.curvature, slopes.T @ slopes, rtol=1e-4, atol=1e-5)
    precision, centre = 1.0 / np.diag(prior()), flat(parameters())

    def cost(vector: np.ndarray) -> float:
        return float((missed(vector) ** 2).sum() + precision @ (vector - centre) ** 2)

    assert found.optimum.cost == pytest.approx(cost(at), rel=1e-9)
    # A Newton step from the mode leads nowhere: it would gain less than the search stops at.
    downhill = -(slopes.T @ missed(at) + precision * (at - centre))
    step = np.linalg.solve(slopes.T @ slopes + np.diag(precision), downhill)
    assert downhill @ step < 5e-3
    assert_allclose(flat(found.parameters), at)


def test_slopes_of_the_free_run_are_its_derivatives():
    """By every parameter, over two records, length-scales that differ and outputs that are missing."""
    parts, task = parameters(), problem()
    parts = eqx.tree_at(lambda p: p.log_scales, parts, jnp.asarray([0.3, -0.2, 0.5]))
    vector, unravel = ravel_pytree(parts)
    observed = np.asarray(task.records.observed).copy()
    observed[5:9] = False
    records = task.records._replace(observed=jnp.asarray(observed))
    run = jax.jit(lambda p: residuals(unravel(p), task.frame, records))
    found, slopes = linearised(parts, task.frame, records)
    assert_allclose(found, run(vector), atol=1e-12)
    step = 1e-6
    moved = [np.asarray(run(vector + step * row) - run(vector - step * row)) for row in np.eye(len(vector))]
    assert_allclose(slopes, np.stack(moved, axis=-1) / (2.0 * step), atol=1e-7, rtol=1e-6)
    used = np.abs(slopes).max(axis=(0, 1)) > 0.0
    assert used[named() != "emission"].all(), "every parameter but the noise of the emission moves the run"
