"""Closed-form moments against sampling, and the small algebra beneath them against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from gpssm._core._elimination import inverse_and_logdet
from gpssm.control import (
    ConditionedGP,
    Controller,
    Gaussian,
    Moments,
    RBFPolicy,
    expected_saturating_cost,
    saturating_cost,
    sine_cosine_moments,
    squash,
    squash_moments,
)
from gpssm.control._moments import append, select
from tests.reference.compiling import jit

SAMPLES = 200_000
ERRORS = 4.5  # standard errors allowed; with about a hundred comparisons a correct formula passes


# Operation by operation, most of the time would go into compiling each of them.
compiled_sine_cosine_moments = jit(sine_cosine_moments)
compiled_squash_moments = jit(squash_moments)
compiled_expected_cost = jit(expected_saturating_cost)
compiled_gp_moments = jit(ConditionedGP.moments)


def random_gaussian(rng, size, scale):
    root = scale * rng.normal(size=(size, size))
    return Gaussian(jnp.asarray(rng.normal(size=size)), jnp.asarray(root @ root.T))


def draw(rng, given):
    return rng.multivariate_normal(np.asarray(given.mean), np.asarray(given.cov), size=SAMPLES)


def assert_within_standard_errors(estimates, value):
    """`estimates` holds one unbiased estimate of `value` per sample along its first axis."""
    error = estimates.std(0) / np.sqrt(len(estimates))
    difference = np.abs(estimates.mean(0) - np.asarray(value))
    assert (difference <= ERRORS * error + 1e-12).all(), (difference / error).max()


def assert_moments(x, f, given, moments, extra_variance=0.0):
    """Mean, covariance and input-output covariance of samples f(x) against closed forms."""
    assert_within_standard_errors(f, moments.mean)
    centred = f - np.asarray(moments.mean)
    second = centred[:, :, None] * centred[:, None, :]
    second = second + np.eye(f.shape[1]) * np.asarray(extra_variance)[..., None]
    assert_within_standard_errors(second, moments.cov)
    cross = (x - np.asarray(given.mean))[:, :, None] * centred[:, None, :]
    assert_within_standard_errors(cross, given.cov @ moments.gain)


def random_gp(rng, points=12, inputs=3, outputs=2):
    """A process conditioned on random targets, written out with NumPy."""
    x = rng.normal(size=(points, inputs))
    lengthscales = rng.uniform(0.7, 2.0, size=(outputs, inputs))
    signal = rng.uniform(0.5, 2.0, size=outputs)
    weights, reductions = [], []
    for e in range(outputs):
        distance = ((x[:, None] - x[None]) / lengthscales[e]) ** 2
        kernel = signal[e] * np.exp(-0.5 * distance.sum(2)) + 0.01 * np.eye(points)
        reductions.append(np.linalg.inv(kernel))
        weights.append(reductions[-1] @ rng.normal(size=points))
    return ConditionedGP(
        inputs=jnp.asarray(x),
        lengthscales=jnp.asarray(lengthscales),
        signal_variance=jnp.asarray(signal),
        weights=jnp.asarray(np.stack(weights)),
        reductions=jnp.asarray(np.stack(reductions)),
        spare=jnp.asarray(signal),
    )


@pytest.mark.parametrize("size", [1, 2, 6])
def test_inverse_and_logdet(size):
    rng = np.random.default_rng(size)
    roots = rng.normal(size=(4, size, size))
    matrices = np.eye(size) + roots @ roots.transpose(0, 2, 1)
    inverse, logdet = jit(inverse_and_logdet)(jnp.asarray(matrices))
    np.testing.assert_allclose(inverse, np.linalg.inv(matrices), atol=1e-12)
    np.testing.assert_allclose(logdet, np.linalg.slogdet(matrices)[1], atol=1e-12)
    check_grads(jax.jit(inverse_and_logdet), (jnp.asarray(matrices),), order=1, modes=["fwd", "rev"], rtol=1e-6)


def test_sine_cosine_moments_match_sampling():
    rng = np.random.default_rng(0)
    given = random_gaussian(rng, 3, 0.6)
    x = draw(rng, given)
    f = np.stack([np.sin(x[:, 2]), np.cos(x[:, 2]), np.sin(x[:, 0]), np.cos(x[:, 0])], axis=1)
    assert_moments(x, f, given, compiled_sine_cosine_moments(given, (2, 0)))


def test_sine_moments_keep_their_digits_for_tiny_variances():
    given = Gaussian(jnp.array([0.7]), jnp.array([[1e-14]]))
    cov = compiled_sine_cosine_moments(given, (0,)).cov
    slopes = np.array([np.cos(0.7), -np.sin(0.7)])
    np.testing.assert_allclose(cov, 1e-14 * np.outer(slopes, slopes), rtol=1e-10)


def test_sine_moments_of_hardly_known_angles_are_those_of_uniform_ones():
    """A predicted pendulum that may have turned many times: exp(variance) overflows, the moments do not."""
    root = 40.0 * np.random.default_rng(9).normal(size=(2, 2))
    given = Gaussian(jnp.array([0.3, 2.0]), jnp.asarray(root @ root.T + 1600 * np.eye(2)))
    moments = compiled_sine_cosine_moments(given, (0, 1))
    np.testing.assert_allclose(moments.mean, np.zeros(4), atol=1e-12)
    np.testing.assert_allclose(moments.cov, 0.5 * np.eye(4), atol=1e-12)
    slopes = jit(jax.jacobian(lambda cov: sine_cosine_moments(Gaussian(given.mean, cov), (0, 1)).cov))(given.cov)
    assert np.isfinite(slopes).all()


def test_sine_moment_gradients_at_zero_covariance():
    given = Gaussian(jnp.array([0.3, 2.0]), jnp.diag(jnp.array([0.4, 0.9])))

    def cov(between: jax.Array) -> jax.Array:
        return sine_cosine_moments(Gaussian(given.mean, given.cov.at[0, 1].set(between)), (0, 1)).cov

    slopes = jit(jax.jacobian(cov))(jnp.zeros(()))
    # d cov(sin a, sin b) / d cov(a, b) at independence is E[cos a] E[cos b].
    np.testing.assert_allclose(slopes[0, 2], np.exp(-0.65) * np.cos(0.3) * np.cos(2.0), rtol=1e-10)


def test_squash_moments_match_sampling():
    rng = np.random.default_rng(1)
    given = random_gaussian(rng, 2, 0.8)
    x = draw(rng, given)
    f = 10.0 * (9 * np.sin(x) + np.sin(3 * x)) / 8
    assert_moments(x, f, given, compiled_squash_moments(given, 10.0))


def test_squash_reaches_but_never_passes_its_limit():
    v = jnp.linspace(-10.0, 10.0, 2001)
    assert np.abs(squash(v, 2.0)).max() <= 2.0
    np.testing.assert_allclose(squash(jnp.array([np.pi / 2, -np.pi / 2]), 2.0), [2.0, -2.0], atol=1e-12)
    np.testing.assert_allclose(squash(jnp.array([1e-6]), 2.0), [3e-6], rtol=1e-9)


@jit
def at_points(gp: ConditionedGP, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.vmap(lambda point: (gp.mean(point), gp.variance(point)))(x)


@pytest.mark.parametrize("scale", [0.2, 1.0])
def test_gp_moments_match_sampling(scale):
    rng = np.random.default_rng(2)
    gp, given = random_gp(rng), random_gaussian(rng, 3, scale)
    x = draw(rng, given)
    means, variances = (np.asarray(a) for a in at_points(gp, jnp.asarray(x)))
    assert (variances > 0).all()
    assert_moments(x, means, given, compiled_gp_moments(gp, given), variances)


def test_gp_moments_at_a_known_input_are_the_predictions():
    rng = np.random.default_rng(3)
    gp, point = random_gp(rng), jnp.asarray(rng.normal(size=3))
    moments = compiled_gp_moments(gp, Gaussian(point, jnp.zeros((3, 3))))
    mean, variance, slope = jit(lambda z: (gp.mean(z), gp.variance(z), jax.jacobian(gp.mean)(z)))(point)
    np.testing.assert_allclose(moments.mean, mean, atol=1e-12)
    np.testing.assert_allclose(moments.cov, np.diag(variance), atol=1e-10)
    np.testing.assert_allclose(moments.gain.T, slope, atol=1e-12)


def test_policy_moments_match_sampling():
    rng = np.random.default_rng(4)
    policy = RBFPolicy(
        centres=jnp.asarray(rng.normal(size=(6, 3))),
        targets=jnp.asarray(rng.normal(size=(6, 2))),
        log_lengthscales=jnp.asarray(rng.uniform(-0.3, 0.5, size=(2, 3))),
    )
    controller, given = jit(RBFPolicy.condition)(policy), random_gaussian(rng, 3, 0.7)
    x = draw(rng, given)
    raw = np.asarray(jit(lambda points: jax.vmap(controller.network.mean)(points))(jnp.asarray(x)))
    assert_moments(x, raw, given, jit(controller.network.moments)(given))
    # The squashed action is exact only for a Gaussian raw action, which a nearly known input gives.
    narrow = Gaussian(given.mean, 1e-6 * given.cov)
    moments = jit(controller.moments)(narrow, 5.0)
    action, slope = jit(lambda z: (controller.act(z, 5.0), jax.jacobian(lambda v: controller.act(v, 5.0))(z)))(
        narrow.mean
    )
    np.testing.assert_allclose(moments.mean, action, rtol=1e-4)
    np.testing.assert_allclose(moments.gain.T, slope, rtol=1e-4)
    np.testing.assert_allclose(moments.cov, slope @ narrow.cov @ slope.T, rtol=1e-3)


def test_policy_network_passes_near_its_targets():
    rng = np.random.default_rng(5)
    targets = rng.normal(size=(5, 1))
    centres = 10.0 * np.arange(5.0)[:, None] + np.zeros((5, 2))
    controller = jit(RBFPolicy.condition)(RBFPolicy(jnp.asarray(centres), jnp.asarray(targets), jnp.zeros((1, 2))))
    assert isinstance(controller, Controller)
    means = jit(lambda points: jax.vmap(controller.network.mean)(points))(jnp.asarray(centres))
    np.testing.assert_allclose(means, targets / (1 + 1e-4), rtol=1e-10)


def test_expected_cost_matches_sampling():
    rng = np.random.default_rng(6)
    given, target = random_gaussian(rng, 2, 0.5), jnp.array([0.2, 0.4])
    costs = np.asarray(saturating_cost(jnp.asarray(draw(rng, given)), target, 0.6))
    assert_within_standard_errors(costs, compiled_expected_cost(given, target, 0.6))
    known = Gaussian(jnp.array([0.2, 1.0]), jnp.zeros((2, 2)))
    np.testing.assert_allclose(compiled_expected_cost(known, target, 0.6), 1 - np.exp(-0.5), atol=1e-12)


def test_appending_a_linear_function_is_exact():
    rng = np.random.default_rng(7)
    joint, matrix = random_gaussian(rng, 4, 1.0), rng.normal(size=(2, 3))

    @jit
    def extend(joint: Gaussian, matrix: jax.Array) -> Gaussian:
        part = select(joint, (3, 1))
        return append(joint, Moments(matrix.T @ part.mean, matrix.T @ part.cov @ matrix, matrix), (3, 1))

    extended = extend(joint, jnp.asarray(matrix))
    full = np.vstack([np.eye(4), np.zeros((3, 4))])
    full[4:, [3, 1]] = matrix.T
    np.testing.assert_allclose(extended.mean, full @ joint.mean, atol=1e-12)
    np.testing.assert_allclose(extended.cov, full @ joint.cov @ full.T, atol=1e-12)


def test_gp_moment_gradients():
    rng = np.random.default_rng(8)
    gp, given = random_gp(rng, points=5), random_gaussian(rng, 3, 0.5)

    @jax.jit
    def value(mean, cov, weights):
        changed = ConditionedGP(gp.inputs, gp.lengthscales, gp.signal_variance, weights, gp.reductions, gp.spare)
        return tuple(changed.moments(Gaussian(mean, (cov + cov.T) / 2)))

    check_grads(value, (given.mean, given.cov, gp.weights), order=1, modes=["rev"], rtol=1e-5, atol=1e-5)
