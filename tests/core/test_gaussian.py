"""Gaussian atoms against loops, dense joints and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpssm._core._gaussian import (
    affine_chain,
    covariance_chain,
    expected_log_normal,
    kl_to_standard_normal,
    masked_sum,
    matmul,
    matvec,
    transpose,
)
from tests.reference.compiling import jit
from tests.reference.differences import assert_derivatives
from tests.reference.gaussian import chain_covariance, kl, log_density
from tests.reference.montecarlo import assert_mean

quick = settings(deadline=None, max_examples=20)
seeds = st.integers(0, 2**31)
T, D = 6, 3

run_affine = jit(affine_chain)
run_covariance = jit(covariance_chain)


def gains_and_noises(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    root = rng.standard_normal((T, D, D))
    return rng.standard_normal((T, D, D)), root @ np.swapaxes(root, 1, 2)


@quick
@given(seeds)
def test_affine_chain_equals_the_loop(seed):
    rng = np.random.default_rng(seed)
    gains, steps = rng.standard_normal((T, D, D)), rng.standard_normal((T, D))
    expected = [steps[0]]
    for t in range(1, T):
        expected.append(gains[t] @ expected[-1] + steps[t])
    np.testing.assert_allclose(run_affine(gains, steps), expected, rtol=1e-10, atol=1e-10)


@quick
@given(seeds)
def test_covariance_chain_equals_the_diagonal_blocks_of_the_dense_joint(seed):
    gains, noises = gains_and_noises(np.random.default_rng(seed))
    dense = chain_covariance(gains, noises).reshape(T, D, T, D)
    expected = np.stack([dense[t, :, t] for t in range(T)])
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(run_covariance(gains, noises), expected, rtol=1e-8, atol=1e-10 * scale)


def test_the_first_gain_is_not_used():
    gains, noises = gains_and_noises(np.random.default_rng(0))
    other = gains.copy()
    other[0] = 1e6
    np.testing.assert_array_equal(run_affine(gains, noises[..., 0]), run_affine(other, noises[..., 0]))
    np.testing.assert_array_equal(run_covariance(gains, noises), run_covariance(other, noises))

    def both(g: jax.Array) -> jax.Array:
        covariances = covariance_chain(g, jnp.asarray(noises))
        return jnp.sum(covariances) + jnp.sum(affine_chain(g, jnp.asarray(noises[..., 0])))

    gradient = jit(jax.grad(both))(gains)
    np.testing.assert_array_equal(gradient[0], 0.0)
    assert np.all(gradient[1:] != 0.0)


def test_gradient_of_the_affine_chain():
    both = np.random.default_rng(1).standard_normal((T, D, D + 1))
    assert_derivatives(lambda b: affine_chain(b[..., :D], b[..., D]), both, forward=False)


def test_gradient_of_the_affine_chain_under_vmap():
    rng = np.random.default_rng(2)
    gains, steps = 0.5 * rng.standard_normal((T, D, D)), rng.standard_normal((4, T, D))
    weights = rng.standard_normal((4, T, D))

    @jit
    def gradients(g: jax.Array, s: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
        def one(gain: jax.Array, step: jax.Array, weight: jax.Array) -> jax.Array:
            return jnp.sum(weight * affine_chain(gain, step))

        batch = jax.grad(lambda gain: jnp.sum(jax.vmap(one, in_axes=(None, 0, 0))(gain, s, w)))(g)
        return batch, sum((jax.grad(one)(g, s[i], w[i]) for i in range(4)), jnp.zeros_like(g))

    batch, one_by_one = gradients(gains, steps, weights)
    np.testing.assert_allclose(batch, one_by_one, rtol=1e-10, atol=1e-12)


def test_gradient_of_the_covariance_chain():
    gains_and_roots = np.random.default_rng(3).standard_normal((2, T, D, D))
    assert_derivatives(
        lambda both: covariance_chain(0.5 * both[0], matmul(both[1], transpose(both[1]))),
        gains_and_roots,
        forward=False,
    )


def test_small_products_equal_numpy():
    rng = np.random.default_rng(4)
    a, b, v = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 4, 5)), rng.standard_normal((2, 4))
    np.testing.assert_allclose(matmul(jnp.asarray(a), jnp.asarray(b)), a @ b, rtol=1e-12)
    np.testing.assert_allclose(matvec(jnp.asarray(a), jnp.asarray(v)), np.einsum("bij,bj->bi", a, v), rtol=1e-12)


@quick
@given(seeds)
def test_kl_to_standard_normal_equals_the_closed_form(seed):
    rng = np.random.default_rng(seed)
    mean, chol = rng.standard_normal(D), np.tril(rng.standard_normal((D, D)))
    # A negative diagonal describes the same covariance.
    chol[np.diag_indices(D)] = np.sign(chol[np.diag_indices(D)]) * (0.1 + np.abs(chol[np.diag_indices(D)]))
    expected = kl(mean, chol @ chol.T, np.zeros(D), np.eye(D))
    result = kl_to_standard_normal(jnp.asarray(mean), jnp.asarray(chol))
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)
    assert result >= -1e-12


def test_kl_is_zero_at_the_standard_normal():
    assert kl_to_standard_normal(jnp.zeros(D), jnp.eye(D)) == 0.0


def test_expected_log_normal_is_the_mean_log_density():
    rng = np.random.default_rng(5)
    centre, spread, mean, variance = 0.3, 0.7, -0.2, 0.5
    samples = centre + spread * rng.standard_normal(20_000)
    expected = expected_log_normal(jnp.asarray((centre - mean) ** 2 + spread**2), jnp.asarray(variance))
    assert_mean(log_density(samples[:, None], np.array([mean]), np.array([[variance]])), expected)


@pytest.mark.parametrize("hidden", [0.0, 1e300, -3.0])
def test_masked_sum_ignores_what_does_not_count(hidden):
    values, where = jnp.array([1.0, hidden, 2.0]), jnp.array([True, False, True])
    assert masked_sum(values, where) == 3.0
    np.testing.assert_array_equal(jax.grad(masked_sum)(values, where), [1.0, 0.0, 1.0])
