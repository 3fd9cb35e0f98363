"""The pieces of linear identification, each against its definition: dense Gaussians, least squares, differences."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import gpssm
from gpssm._core._params import Positive
from gpssm.methods.linear import _kalman, _simulated
from gpssm.models import GPSSM, LinearGaussian, LinearMean, LinearTransition
from gpssm.predict import LinearSystem
from gpssm.predict._linear import kalman
from tests.reference.compiling import jit
from tests.reference.gaussian import chain_covariance, log_density

STEPS, ORDER, OUTPUTS = 30, 2, 2


def system() -> LinearSystem:
    return LinearSystem(
        A=np.array([[0.8, 0.3], [-0.2, 0.7]]),
        B=np.array([[0.5, -0.1], [1.0, 0.4]]),
        c=np.array([0.1, -0.2]),
        C=np.array([[1.0, 0.3], [0.4, 1.2]]),
        b=np.array([0.3, -0.1]),
        Q=np.array([[0.05, 0.01], [0.01, 0.02]]),
        R=np.array([0.04, 0.1]),
        m0=np.array([0.5, -0.3]),
        P0=np.array([[0.9, 0.2], [0.2, 0.5]]),
    )


def record(seed: int = 0) -> gpssm.Episode:
    rng = np.random.default_rng(seed)
    true, x = system(), rng.multivariate_normal(system().m0, system().P0)
    u, y = rng.standard_normal((STEPS, 2)), np.empty((STEPS, OUTPUTS))
    for t in range(STEPS):
        y[t] = true.C @ x + true.b + np.sqrt(true.R) * rng.standard_normal(OUTPUTS)
        x = true.A @ x + true.B @ u[t] + true.c + rng.multivariate_normal(np.zeros(ORDER), true.Q)
    y[3, 0], y[11] = np.nan, np.nan
    return gpssm.Episode(y=y, u=u)


def prior(true: LinearSystem, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of all outputs of a record before any is seen."""
    states = np.empty((len(u), ORDER))
    states[0] = true.m0
    for t in range(1, len(u)):
        states[t] = true.A @ states[t - 1] + true.B @ u[t - 1] + true.c
    joint = chain_covariance(np.stack([true.A] * len(u)), np.stack([true.P0] + [true.Q] * (len(u) - 1)))
    read = np.kron(np.eye(len(u)), true.C)
    noise = np.tile(true.R, len(u))
    return (states @ true.C.T + true.b).ravel(), read @ joint @ read.T + np.diag(noise)


def test_the_evidence_is_that_of_the_dense_gaussian():
    true, data = system(), record()
    seen = data.observed.ravel()
    mean, covariance = prior(true, data.u)
    dense = log_density(data.y.ravel()[seen], mean[seen], covariance[np.ix_(seen, seen)])
    assert kalman(true, data.y, data.u, data.observed).log_evidence == pytest.approx(dense, rel=1e-9)


def free_run() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outputs that follow the samples read, and their mean and variance given those, from the dense Gaussian."""
    true, data = system(), record()
    mean, covariance = prior(true, data.u)
    n_init = STEPS // 5
    first = np.flatnonzero(data.observed.ravel()[: n_init * OUTPUTS])
    rest = np.arange(n_init * OUTPUTS, STEPS * OUTPUTS)
    gain = np.linalg.solve(covariance[np.ix_(first, first)], covariance[np.ix_(first, rest)]).T
    given = mean[rest] + gain @ (data.y.ravel()[first] - mean[first])
    left = np.diagonal(covariance[np.ix_(rest, rest)] - gain @ covariance[np.ix_(first, rest)])
    seen = data.observed.ravel()[rest]
    return data.y.ravel()[rest][seen], given[seen], left[seen]


def test_the_error_of_a_free_run_is_that_of_the_dense_conditional():
    y, mean, _ = free_run()
    assert _simulated.free_run_error(system(), [record()]) == pytest.approx(((y - mean) ** 2).mean(), rel=1e-9)
    with np.errstate(all="ignore"):
        assert _simulated.free_run_error(replace(system(), A=1e200 * np.eye(2)), [record()]) == np.inf


def test_noises_are_judged_by_single_steps_and_free_runs_alike():
    y, mean, variance = free_run()
    free = -0.5 * (np.log(2.0 * np.pi * variance) + (y - mean) ** 2 / variance).sum()
    steps = kalman(system(), record().y, record().u, record().observed).log_evidence
    assert _simulated._log_densities(system(), record()) == pytest.approx(0.5 * (free + steps), rel=1e-9)


def test_inputs_are_refitted_by_least_squares_over_whole_runs():
    """The optimum of the ridge problem in (B, c, b) and the first states of two records, solved as one dense system."""
    true, records = system(), [record(0), record(1)]
    found = _simulated.with_inputs_refitted(true, records)

    def outputs(vector: np.ndarray) -> np.ndarray:
        B, c, b, starts = np.split(vector, np.cumsum([4, 2, 2]))
        runs = []
        for data, x in zip(records, starts.reshape(2, ORDER), strict=True):
            for u in data.u:
                runs.append(true.C @ x + b)
                x = true.A @ x + B.reshape(ORDER, 2) @ u + c
        return np.concatenate(runs)

    size = 4 + 2 + 2 + 2 * ORDER
    seen = np.concatenate([data.observed.ravel() for data in records])
    y = np.concatenate([data.y.ravel() for data in records])[seen]
    design = np.stack([outputs(one)[seen] for one in np.eye(size)], axis=1)
    best = np.linalg.solve(design.T @ design + _simulated.DOUBT * np.eye(size), design.T @ y)
    np.testing.assert_allclose(found.B, best[:4].reshape(ORDER, 2), rtol=1e-8)
    np.testing.assert_allclose(np.concatenate([found.c, found.b]), best[4:8], rtol=1e-8)


@pytest.mark.system
def test_noises_that_are_wrong_by_orders_of_magnitude_are_found():
    """On a long record of the system itself: closer to the truth than a factor of two, from a hundredth of it."""
    rng, true = np.random.default_rng(5), system()
    x, u, y = true.m0, rng.standard_normal((400, 2)), np.empty((400, OUTPUTS))
    for t in range(400):
        y[t] = true.C @ x + true.b + np.sqrt(true.R) * rng.standard_normal(OUTPUTS)
        x = true.A @ x + true.B @ u[t] + true.c + rng.multivariate_normal(np.zeros(ORDER), true.Q)
    wrong = replace(true, Q=0.01 * true.Q, R=30.0 * true.R)
    found = _simulated.with_noises_found(wrong, [gpssm.Episode(y=y, u=u)])
    assert np.all(np.abs(np.log(found.R / true.R)) < np.log(2.0))
    assert np.all(np.abs(np.log(np.diag(found.Q) / np.diag(true.Q))) < np.log(2.0))


def model(A: np.ndarray) -> GPSSM:
    transition = LinearTransition(
        LinearMean(jnp.asarray(A), jnp.zeros((2, 1)), jnp.zeros(2)), Positive.of(jnp.asarray([0.1, 0.2]))
    )
    emission = LinearGaussian(jnp.eye(2), jnp.zeros(2), Positive.of(jnp.asarray([0.3, 0.4])))
    return GPSSM(transition, emission, 2)


def costs(A: np.ndarray, max_radius: float) -> float:
    nothing = jnp.zeros((3, STEPS, 2)), jnp.zeros((3, STEPS, 1)), jnp.zeros((3, STEPS, 2), bool)
    data = _kalman._Records(*nothing, jnp.log(jnp.asarray(max_radius)), jnp.asarray(0.0))
    return float(jit(_kalman._costs)(model(A), data))


VANISHING = _kalman.NOISE_FLOOR * (1 / 0.1 + 1 / 0.2 + 1 / 0.3 + 1 / 0.4)


@pytest.mark.parametrize(("radius", "allowed"), [(0.7, 0.9), (0.95, 0.9), (1.05, 1.0), (1.05, 1.2)])
def test_growth_beyond_the_allowed_radius_costs_its_square(radius, allowed):
    """A is a rotation times its radius, so that log |A^k| / k is the logarithm of the radius but for a part in k."""
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    # The norm is the root of the sum of squares, sqrt(2) for a rotation.
    growth = np.log(radius) + 0.5 * np.log(2.0) / 2.0**_kalman.SQUARINGS
    excess = max(growth - np.log(allowed) - _kalman.GROWTH, 0.0)
    expected = STEPS * _kalman.STEEPNESS * excess**2 + VANISHING
    assert costs(radius * turn, allowed) == pytest.approx(expected, rel=1e-9)
