"""Autoregression: the exact GP against a dense one in NumPy, and the table of lags."""

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF
from jax.flatten_util import ravel_pytree

import gpssm
from gpssm._core._params import Positive, cast
from gpssm.predict import Lags
from gpssm.predict.autoregression._exact_gp import ExactGP, Points, Prior, filled_up, log_evidence
from tests.reference.compiling import constant, jit

LENGTHSCALES, VARIANCE, NOISE = np.array([0.7, 1.5]), 1.3, 0.05
NEW, DRAWS = np.array([0.3, -0.4]), 2000


@constant
def prior() -> Prior:
    def make(lengthscales: jax.Array) -> Prior:
        return cast(Prior(RBF(lengthscale=lengthscales, variance=VARIANCE), Positive.of(NOISE)), np.float64)

    return jit(make)(LENGTHSCALES)


def measured() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    z = rng.standard_normal((12, 2))
    return z, np.sin(z[:, 0]) + 0.2 * rng.standard_normal(12)


def points() -> Points:
    z, y = measured()
    return Points(*(jax.device_put(filled_up(part)) for part in (z, y, np.ones(len(z)))))


def dense(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    differences = (a[:, None] - b[None, :]) / LENGTHSCALES
    return VARIANCE * np.exp(-0.5 * (differences**2).sum(axis=-1))


def covariance() -> np.ndarray:
    z, _ = measured()
    return dense(z, z) + (NOISE + 1e-6) * np.eye(len(z))


@jit
def evidence_and_slope(flat: jax.Array) -> tuple[jax.Array, jax.Array]:
    arrays, rest = eqx.partition(prior(), eqx.is_inexact_array)
    unravel = ravel_pytree(arrays)[1]
    return jax.value_and_grad(lambda flat: log_evidence(eqx.combine(unravel(flat), rest), points()))(flat)


@constant
def parameters() -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(eqx.filter(prior(), eqx.is_inexact_array))])


def test_log_evidence_is_that_of_the_dense_gaussian():
    _, y = measured()
    expected = -0.5 * (y @ np.linalg.solve(covariance(), y) + np.linalg.slogdet(2.0 * np.pi * covariance())[1])
    assert float(evidence_and_slope(parameters())[0]) == pytest.approx(expected, rel=1e-7)


def test_gradient_of_the_evidence_agrees_with_differences():
    slope = np.asarray(evidence_and_slope(parameters())[1])
    for i, step in enumerate(1e-5 * np.eye(len(slope))):
        ahead, behind = (float(evidence_and_slope(parameters() + sign * step)[0]) for sign in (1.0, -1.0))
        np.testing.assert_allclose(slope[i], (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-6)


@constant
def answers() -> tuple[jax.Array, jax.Array, jax.Array]:
    """Mean and variance at a point, and the values of drawn functions there."""

    @jit
    def ask(keys: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        gp = ExactGP.condition((prior(),), points().z, points().valid, (points().y,))
        new = jax.numpy.asarray(NEW)
        return *gp.moments(new), jax.vmap(lambda key: gp.draw(num_features=128, key=key)(new, key=key)[0])(keys)

    return ask(jr.split(jr.key(2), DRAWS))


def test_moments_are_those_of_the_dense_gaussian():
    z, y = measured()
    row = dense(NEW[None], z)[0]
    mean, variance, _ = answers()
    assert float(mean[0]) == pytest.approx(row @ np.linalg.solve(covariance(), y), rel=1e-7)
    assert float(variance[0]) == pytest.approx(VARIANCE - row @ np.linalg.solve(covariance(), row), rel=1e-6)


def test_drawn_functions_have_the_moments_of_the_posterior():
    mean, variance, values = (np.asarray(part) for part in answers())
    assert abs(values.mean() - mean[0]) < 4.0 * np.sqrt(variance[0] / DRAWS)
    # Random features add a little to the spread of the sample variance itself.
    assert abs(values.var() / variance[0] - 1.0) < 5.0 * np.sqrt(2.0 / DRAWS)


def test_rows_are_the_last_samples_newest_first_without_gaps():
    y, u = np.arange(6.0)[:, None], 10.0 * np.arange(6.0)[:, None]
    y[4] = np.nan
    table, targets = Lags(2, 1, True).table(gpssm.Episodes.from_arrays(y=y, u=u))
    np.testing.assert_array_equal(table, [[1, 0, 10], [2, 1, 20]])
    np.testing.assert_array_equal(targets, [[1], [1]])


def test_window_and_regressor_continue_the_table():
    episode = gpssm.Episode(y=np.arange(6.0), u=10.0 * np.arange(6.0))
    lags = Lags(2, 3, False)
    table, _ = lags.table(gpssm.Episodes([episode]))
    outputs, inputs = lags.window(episode.head(4))
    row = jit(lags.regressor)(outputs, inputs, episode.u[3])
    np.testing.assert_array_equal(row, table[1])


def test_the_likelihood_of_a_linear_autoregression_is_named_as_what_it_is():
    """The density of the residuals at the estimated coefficients and noise."""
    rng = np.random.default_rng(3)
    y = np.cumsum(0.3 * rng.standard_normal((40, 1)), axis=0)
    runs = gpssm.Episodes.from_arrays(y=y)
    system = gpssm.fit(runs, gpssm.ARX(1), progress=gpssm.Silent()).system
    (label,) = [word for word in system.describe() if "training data" in word]
    assert label.startswith("plug-in log-likelihood")
    table, targets = system.lags.table(system.scaler.apply(runs))
    weights, noise = np.asarray(system.regression.weights), np.asarray(system.regression.noise)
    errors = targets - np.append(table, np.ones((len(table), 1)), axis=1) @ weights
    expected = np.sum(-0.5 * (np.log(2.0 * np.pi * noise) + errors**2 / noise))
    np.testing.assert_allclose(system.log_evidence, expected, rtol=1e-9)
