"""Filters and smoother of a state that moves by a GP of which little is known: its variance is part of every step."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF
from numpy.testing import assert_allclose

import gpssm
from gpssm._core._params import Positive, cast
from gpssm.filters import EKF, UKF, ParticleFilter
from gpssm.models import GPSSM, LinearGaussian, SparseGP
from gpssm.predict import Channels
from tests.reference import kernels, transition_cases
from tests.reference import sparse_gp as plain
from tests.reference.compiling import constant
from tests.reference.gp_filtering import GPModel, by_cubature, by_tangent, gaussian_filter, grid_filter, smoother

STEPS = 12
pytestmark = pytest.mark.system


def _system(transition: SparseGP, model: GPModel, inputs: int) -> gpssm.System:
    emission = LinearGaussian(jnp.asarray(model.W), jnp.asarray(model.b), Positive.of(jnp.asarray(model.R)))
    outputs = len(model.b)
    scaler = gpssm.Scaler(
        output_mean=np.zeros(outputs),
        output_scale=np.ones(outputs),
        input_mean=np.zeros(inputs),
        input_scale=np.ones(inputs),
    )
    names = tuple(f"y{i}" for i in range(outputs)), tuple(f"u{i}" for i in range(inputs))
    whole = cast(GPSSM(transition, emission, len(model.gps)), np.float64)
    return gpssm.System(whole, scaler, Channels(*names))


def _episode(y: np.ndarray, u: np.ndarray) -> gpssm.Episode:
    names = {"output_names": [f"y{i}" for i in range(y.shape[1])], "input_names": [f"u{i}" for i in range(u.shape[1])]}
    return gpssm.Episode(y=y, u=u, **names)


@constant
def two_states() -> tuple[gpssm.System, GPModel, np.ndarray, np.ndarray]:
    """Two states that move each other, one input, one output, small noise and a GP that knows little."""
    case, rng = transition_cases.make("RBF", "Matern52", seed=4), np.random.default_rng(5)
    Q = np.array([0.02, 0.03])
    transition = SparseGP(
        case.transition.kernels,
        case.transition.inducing,
        case.transition.q_mean,
        case.transition.q_chol,
        Positive.of(Q),
        case.transition.mean,
        whitened=True,
    )
    model = GPModel(case.gps, Q, np.array([[1.0, -0.6]]), np.array([0.2]), np.array([0.3]))
    y, u = rng.standard_normal((STEPS, 1)), rng.standard_normal((STEPS, 1))
    noises = np.stack([model.moments(rng.standard_normal(2), now)[1] for now in u])
    assert np.median(noises / Q) > 5.0, "the variance of the GP must be what matters here"
    return _system(transition, model, 1), model, y, u


@pytest.mark.parametrize(("reader", "move"), [(EKF(), by_tangent), (UKF(), by_cubature)], ids=["EKF", "UKF"])
def test_gaussian_filters_add_the_variance_of_the_function(reader, move):
    system, model, y, u = two_states()
    expected, _ = gaussian_filter(model, move, y, u)
    states = system.filter(_episode(y, u), reader=reader)
    assert_allclose(states.means, expected.means, atol=1e-6)
    assert_allclose(states.chols @ np.swapaxes(states.chols, 1, 2), expected.covariances, atol=1e-6)
    assert states.log_evidence == pytest.approx(expected.evidence, abs=1e-5)


def test_the_smoother_adds_the_variance_of_the_function():
    system, model, y, u = two_states()
    means, covariances = smoother(*gaussian_filter(model, by_tangent, y, u))
    states = system.smooth(_episode(y, u))
    assert_allclose(states.means, means, atol=1e-6)
    assert_allclose(states.chols @ np.swapaxes(states.chols, 1, 2), covariances, atol=1e-6)


@constant
def one_state() -> tuple[gpssm.System, GPModel, np.ndarray]:
    """A state whose next value is uncertain on one side and known on the other."""
    Q, inducing = np.array([0.02]), np.array([[-1.5], [0.0], [1.5]])
    mean, chol = np.array([0.8, -0.2, -0.8]), np.diag([1.6, 0.6, 0.05])
    gp = plain.whitened(plain.SparseGP(kernels.rbf(0.9, 0.8), inducing, mean, chol @ chol.T), mean, chol)
    transition = SparseGP.create(
        RBF(lengthscale=jnp.full(1, 0.9), variance=0.8), jnp.asarray(inducing), state_dim=1, noise=float(Q[0])
    )
    transition = transition_cases.with_q(transition, mean[None], chol[None])
    model = GPModel((gp,), Q, np.ones((1, 1)), np.zeros(1), np.array([0.25]))
    y = np.random.default_rng(8).normal(scale=1.2, size=(STEPS, 1))
    return _system(transition, model, 0), model, y


def test_a_grid_fine_enough_does_not_matter():
    _, model, y = one_state()
    coarse, fine = (grid_filter(model, y, np.linspace(-8.0, 8.0, points)) for points in (800, 1600))
    for one, other in zip(coarse, fine, strict=True):
        assert_allclose(one, other, atol=1e-8)


def test_the_particle_filter_agrees_with_densities_on_a_grid():
    system, model, y = one_state()
    means, variances, evidence = grid_filter(model, y, np.linspace(-8.0, 8.0, 800))
    episode = _episode(y, np.zeros((STEPS, 0)))
    runs = [system.filter(episode, reader=ParticleFilter(4000), key=jr.key(i)) for i in range(12)]
    found = np.stack([run.means[:, 0] for run in runs])
    # Twelve runs estimate a standard error to about 20 %.
    error = found.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert np.all(np.abs(found.mean(axis=0) - means) < 6.0 * error + 1e-3)
    spread = np.stack([run.chols[:, 0, 0] ** 2 for run in runs])
    assert np.all(np.abs(spread.mean(axis=0) - variances) < 6.0 * spread.std(axis=0, ddof=1) / 12**0.5 + 1e-3)
    evidences = np.array([run.log_evidence for run in runs])
    # The estimate of the evidence itself has no bias; its logarithm is low by half its variance.
    off = evidences.mean() + 0.5 * evidences.var(ddof=1) - evidence
    assert abs(off) < 6.0 * evidences.std(ddof=1) / np.sqrt(len(runs))


@pytest.mark.parametrize("reader", [EKF(), UKF()], ids=["EKF", "UKF"])
def test_gaussian_filters_come_near_the_densities_on_a_grid(reader):
    """Not equal, since they take every density for a Gaussian; without the variance of the GP they are far off."""
    system, model, y = one_state()
    means, variances, evidence = grid_filter(model, y, np.linspace(-8.0, 8.0, 800))
    states = system.filter(_episode(y, np.zeros((STEPS, 0))), reader=reader)
    assert np.all(np.abs(states.means[:, 0] - means) < 0.5 * np.sqrt(variances))
    assert_allclose(states.std[:, 0], np.sqrt(variances), rtol=0.12)
    assert states.log_evidence == pytest.approx(evidence, abs=0.4)
