"""Marginal inference against definitions: Kalman evidence, dense Gaussians, a grid in plain NumPy, invariances."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF, Constant

from gpssm._core._params import Positive
from gpssm.data import Episode, Episodes
from gpssm.inference import Cubature, GaussHermite
from gpssm.inference.marginal import (
    FilterLaplace,
    NoisePrior,
    OnNodes,
    Tangent,
    evidence_of,
    function_posterior,
    with_posterior,
)
from gpssm.models import GPSSM, Batch, LinearGaussian, LinearMean, Magnitude, SparseGP
from tests.reference.compiling import jit
from tests.reference.kalman import LinearModel, evidence, joint
from tests.reference.scalar_states import scalar_model, simulated

KALMAN = LinearModel(
    A=np.array([[0.8, 0.3], [-0.4, 0.7]]),
    B=np.array([[0.5], [-1.0]]),
    c=np.array([0.3, -0.2]),
    Q=np.array([0.2, 0.5]),
    W=np.array([[1.0, 0.4], [-0.3, 0.9]]),
    b=np.array([0.1, -0.5]),
    R=np.array([0.1, 0.4]),
)
LEVEL = 0.7
"""Variance of a constant kernel: the only inducing value v_d shifts state d by sqrt(LEVEL) v_d."""


def records(lengths=(6, 4)) -> Episodes:
    """Random outputs: the model need not be right. Some are missing, one step entirely."""
    rng = np.random.default_rng(1)
    y = [2.0 * rng.standard_normal((length, 2)) for length in lengths]
    y[0][2] = np.nan
    y[0][4, 0] = y[1][0, 1] = np.nan
    return Episodes([Episode(y=a, u=rng.standard_normal((len(a), 1))) for a in y])


def linear_model(*, noise=KALMAN.R, weight=KALMAN.W) -> GPSSM:
    """Linear in state and inducing values together: a linear mean, and a kernel that is constant."""
    mean = LinearMean(*map(jnp.asarray, (KALMAN.A, KALMAN.B, KALMAN.c)))
    created = SparseGP.create(Constant(constant=LEVEL), jnp.zeros((1, 3)), state_dim=2, mean=mean)
    transition = eqx.tree_at(lambda t: t.noise, created, Positive.of(jnp.asarray(KALMAN.Q)))
    emission = LinearGaussian(jnp.asarray(weight), jnp.asarray(KALMAN.b), Positive.of(jnp.asarray(noise)))
    return GPSSM(transition, emission, 2)


RULES = {"hermite": OnNodes(GaussHermite(3)), "cubature": OnNodes(Cubature()), "tangent": Tangent()}


@jit
def evidences(model, values, batch, carry):
    return evidence_of(model, values, batch, carry, fitc=False)


@pytest.mark.parametrize("rule", RULES)
def test_the_evidence_of_a_linear_function_is_kalmans(rule: str):
    values = np.array([[0.4], [-1.1]])
    shifted = LinearModel(**{**vars(KALMAN), "c": KALMAN.c + np.sqrt(LEVEL) * values[:, 0]})
    expected = sum(evidence(shifted, e.y, e.u, e.observed) for e in records())
    found = evidences(linear_model(), jnp.asarray(values), Batch.of(records()), RULES[rule])
    # The kernel matrix carries a relative jitter of 1e-6, covariances a ridge of 1e-10.
    np.testing.assert_allclose(found.log_evidence, expected, rtol=1e-5)
    # Where outputs are linear in the function, the information does not depend on it.
    np.testing.assert_allclose(np.eye(2) + np.asarray(found.information), dense_posterior()[0], rtol=1e-5, atol=1e-6)


def dense_posterior() -> tuple[np.ndarray, np.ndarray, float]:
    """Precision, mean and log-evidence of v by dense Gaussian algebra: outputs are linear in v."""
    precision, pull, log_evidence, residuals = np.eye(2), np.zeros(2), 0.0, []
    for episode in records():
        seen = episode.observed.ravel()
        read = np.kron(np.eye(len(episode)), KALMAN.W)[seen]
        mean, covariance = joint(KALMAN, episode.u)
        slopes = []
        for d in range(2):
            moved = LinearModel(**{**vars(KALMAN), "c": KALMAN.c + np.sqrt(LEVEL) * np.eye(2)[d]})
            slopes.append(joint(moved, episode.u)[0] - mean)
        slope = read @ np.stack(slopes, axis=1)
        noise = read @ covariance @ read.T + np.diag(np.tile(KALMAN.R, len(episode))[seen])
        residual = episode.y.ravel()[seen] - read @ mean - np.tile(KALMAN.b, len(episode))[seen]
        precision += slope.T @ np.linalg.solve(noise, slope)
        pull += slope.T @ np.linalg.solve(noise, residual)
        residuals.append(residual @ np.linalg.solve(noise, residual) + np.linalg.slogdet(2.0 * np.pi * noise)[1])
    found = np.linalg.solve(precision, pull)
    log_evidence = -0.5 * (sum(residuals) - pull @ found + np.linalg.slogdet(precision)[1])
    return precision, found, float(log_evidence)


def test_posterior_and_evidence_are_exact_where_outputs_are_linear_in_the_function():
    precision, mean, log_evidence = dense_posterior()
    model, batch = linear_model(), Batch.of(records())
    found = evidences(model, jnp.asarray(mean)[:, None], batch, Tangent())
    np.testing.assert_allclose(np.eye(2) + np.asarray(found.information), precision, rtol=1e-5, atol=1e-6)
    laplace = float(found.log_evidence) - 0.5 * mean @ mean - 0.5 * np.linalg.slogdet(precision)[1]
    np.testing.assert_allclose(laplace, log_evidence, rtol=1e-6)


def test_the_bound_is_what_laplace_says_and_its_optimum_is_the_posterior_mean(getkey):
    _, mean, log_evidence = dense_posterior()
    model, batch = with_posterior(linear_model(), jnp.zeros((2, 1)), np.eye(2)), Batch.of(records())
    inference = FilterLaplace.about(model, batch, fitc=False, carry=Tangent())
    no_prior = float(inference.prior.log_prob(model))

    @jit
    @jax.value_and_grad
    def bound(at):
        moved = eqx.tree_at(lambda i: i.at, inference, at)
        return moved.bound(model, batch, key=jr.key(0))[0].total()

    scale = np.asarray(inference.spread.unwrap())
    at = jnp.asarray(np.linalg.solve(scale, mean))
    value, slope = bound(at)
    np.testing.assert_allclose(float(value) - no_prior, log_evidence, rtol=1e-6)
    np.testing.assert_allclose(slope, 0.0, atol=1e-3)
    np.testing.assert_allclose(np.asarray(eqx.tree_at(lambda i: i.at, inference, at).values())[:, 0], mean, rtol=1e-8)


def test_a_value_that_is_known_for_certain_has_a_posterior_all_the_same():
    found = with_posterior(linear_model(), jnp.zeros((2, 1)), np.diag([0.25, 0.0]))
    np.testing.assert_allclose(np.asarray(found.transition.q_chol.unwrap()).ravel(), [0.5, 0.0], atol=1e-6)


@pytest.mark.system
def test_the_corrected_posterior_and_its_bound_are_exact_in_the_linear_case(getkey):
    precision, mean, log_evidence = dense_posterior()
    model, batch = with_posterior(linear_model(), jnp.asarray(mean)[:, None], np.eye(2)), Batch.of(records())
    inference = FilterLaplace.about(model, batch, fitc=False, carry=Tangent())
    found = function_posterior(inference, model, batch, draws=4000, rounds=1, key=getkey(1))
    np.testing.assert_allclose(found.covariance, np.linalg.inv(precision), rtol=1e-4)
    # The log-evidence is quadratic in v: with 4000 draws its mean has a standard error of about a hundredth.
    np.testing.assert_allclose(found.elbo, log_evidence, atol=0.06)


def test_what_lies_under_a_mask_and_the_order_of_episodes_change_nothing():
    model, values = linear_model(), jnp.asarray([[0.4], [-1.1]])
    plain = evidences(model, values, Batch.of(records()), Tangent())
    episodes = list(records())
    empty = Episode(y=np.full((3, 2), np.nan), u=np.ones((3, 1)))
    longer = [
        Episode(y=np.concatenate([e.y_with_nan, np.full((2, 2), np.nan)]), u=np.concatenate([e.u, np.ones((2, 1))]))
        for e in episodes
    ]
    for other in (
        Batch.of(episodes[::-1]),
        Batch.of(episodes, length=9),
        Batch.of([*episodes, empty]),
        Batch.of(longer),
    ):
        found = evidences(model, values, other, Tangent())
        np.testing.assert_allclose(found.log_evidence, plain.log_evidence, rtol=1e-12)
        np.testing.assert_allclose(found.information, plain.information, rtol=1e-10, atol=1e-12)


def test_with_known_states_the_information_is_that_of_regression():
    model, values = scalar_model(noise=1e-8, process=0.05)
    episodes = simulated(model, values, episodes=4, steps=8, seed=3)
    found = evidences(model, jnp.asarray(values), Batch.of(episodes), Tangent())
    basis = model.transition.bases()[0]
    now = np.concatenate([e.y[:-1] for e in episodes])
    features = np.asarray(basis.project(jnp.asarray(now))[0])
    np.testing.assert_allclose(found.information, features @ features.T / 0.05, rtol=2e-3, atol=2e-3)


def test_information_is_the_curvature_of_the_evidence_on_average():
    """A'A leaves out what innovation variances tell; with little process noise that is next to nothing."""
    model, values = scalar_model(noise=0.05, process=0.3)
    batch = Batch.of(simulated(model, values, episodes=150, steps=6, seed=4))

    @jit
    def curvature(values):
        return jax.hessian(lambda v: evidence_of(model, v[None], batch, Tangent(), fitc=False).log_evidence)(values)

    exact = -np.asarray(curvature(jnp.asarray(values[0])))
    found = np.asarray(evidences(model, jnp.asarray(values), batch, Tangent()).information)
    leading = np.linalg.eigh(found)[1][:, -2:]
    ratio = np.diagonal(leading.T @ exact @ leading) / np.diagonal(leading.T @ found @ leading)
    np.testing.assert_allclose(ratio, 1.0, atol=0.25)


def test_fitc_counts_what_the_inducing_values_leave_as_process_noise():
    """Far from all inducing inputs the unexplained variance is the kernel's own."""
    created = SparseGP.create(
        RBF(lengthscale=jnp.asarray([0.5]), variance=0.3), jnp.full((1, 1), 50.0), state_dim=1, noise=0.1
    )
    model = GPSSM(created, LinearGaussian.first_states(1, 1, noise=0.2), 1)
    y = np.random.default_rng(0).standard_normal((7, 1))
    walk = LinearModel(
        np.eye(1), np.zeros((1, 0)), np.zeros(1), np.array([0.4]), np.eye(1), np.zeros(1), np.array([0.2])
    )
    expected = evidence(walk, y, np.zeros((7, 0)), np.ones((7, 1), bool))
    found = evidence_of(model, jnp.zeros((1, 1)), Batch.of([Episode(y=y)]), Tangent(), fitc=True)
    np.testing.assert_allclose(found.log_evidence, expected, rtol=1e-6)


def test_outputs_without_a_sign_are_linearised_over_the_belief():
    """|x| is x where x is certainly positive: the filter of a magnitude is then that of a line."""
    line = linear_model(weight=np.eye(2))
    far = eqx.tree_at(lambda m: m.emission.offset, line, jnp.asarray([60.0, 60.0]))
    magnitude = Magnitude(
        jnp.eye(2), jnp.asarray([60.0, 60.0]), Positive.of(jnp.asarray([1e-300] * 2)), far.emission.noise
    )
    other = GPSSM(far.transition, magnitude, 2)
    y = 60.0 + np.random.default_rng(5).standard_normal((5, 2))
    batch = Batch.of([Episode(y=y, u=np.zeros((5, 1)))])
    values = jnp.asarray([[0.1], [0.2]])
    expected = evidences(far, values, batch, Tangent())
    found = evidences(other, values, batch, Tangent())
    np.testing.assert_allclose(found.log_evidence, expected.log_evidence, rtol=1e-8)
    np.testing.assert_allclose(found.information, expected.information, rtol=1e-7)


def test_the_prior_doubts_process_noise_far_below_a_share_of_the_measurement_noise_only():
    model, edge = linear_model(), 0.1 * KALMAN.R.mean()
    small = eqx.tree_at(lambda m: m.transition.noise, model, Positive.of(jnp.asarray([edge * 10.0, edge / np.e**3])))
    np.testing.assert_allclose(NoisePrior().log_prob(small), -0.5 * (3.0 / 2.0) ** 2, rtol=1e-12)
    assert float(NoisePrior().log_prob(model)) == 0.0
