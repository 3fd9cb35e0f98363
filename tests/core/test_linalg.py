"""Factorisations: values, derivatives, jitter, and that a batch of them can never stop the program."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpssm._core._linalg import (
    ESCALATIONS,
    Factor,
    base_jitter,
    factorise,
    product,
    rounding_jitter,
    small_cholesky,
    weighted_gram,
)
from tests.reference.compiling import jit
from tests.reference.differences import assert_derivatives

quick = settings(deadline=None, max_examples=20)


def positive(rng: np.random.Generator, size: int, *batch: int) -> np.ndarray:
    root = rng.standard_normal((*batch, size, size))
    return root @ np.swapaxes(root, -1, -2) + 0.5 * np.eye(size)


def pieces(matrix: jax.Array) -> tuple[jax.Array, ...]:
    factor = factorise(matrix, 1e-6)
    return factor.chol, factor.inverse, factor.jitter, factor.log_det()


parts = jit(pieces)


@quick
@given(st.integers(0, 2**31), st.floats(-8.0, 8.0))
def test_factor_inverse_and_determinant_equal_numpy(seed, log_scale):
    matrix = np.exp(log_scale) * positive(np.random.default_rng(seed), 5)
    chol, inverse, jitter, log_det = parts(matrix)
    jittered = matrix + 1e-6 * np.mean(np.diag(matrix)) * np.eye(5)
    np.testing.assert_allclose(chol, np.linalg.cholesky(jittered), rtol=1e-10, atol=1e-10 * np.exp(0.5 * log_scale))
    np.testing.assert_allclose(inverse @ np.linalg.cholesky(jittered), np.eye(5), atol=1e-10)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(jittered)[1], rtol=1e-10, atol=1e-10)
    assert jitter == 1e-6


@pytest.mark.parametrize("jitter", [1e-12, 0.3])
def test_derivatives_in_both_modes(jitter):
    def of_root(root: jax.Array) -> tuple[jax.Array, ...]:
        factor = factorise(root @ root.T + jnp.eye(4), jitter)
        return factor.chol, factor.inverse, factor.log_det()

    root = np.random.default_rng(0).standard_normal((4, 4))
    assert_derivatives(of_root, root)


def test_a_product_and_its_derivatives_in_both_factors():
    rng = np.random.default_rng(3)
    both = rng.standard_normal(3 * 4 + 4 * 2)

    def of(flat: jax.Array) -> jax.Array:
        return product(flat[:12].reshape(3, 4), flat[12:].reshape(4, 2))

    np.testing.assert_allclose(jit(of)(both), both[:12].reshape(3, 4) @ both[12:].reshape(4, 2), rtol=1e-14)
    assert_derivatives(of, both)


def test_second_derivatives():
    def loss(root: jax.Array) -> jax.Array:
        factor = factorise(root @ root.T + jnp.eye(3), 1e-8)
        return jnp.sum(jnp.sin(factor.inverse)) + factor.log_det()

    assert_derivatives(jax.grad(loss), np.random.default_rng(0).standard_normal((3, 3)))


def test_the_derivative_ignores_which_triangle_holds_the_change():
    matrix = positive(np.random.default_rng(1), 4)
    gradient = jit(jax.grad(lambda m: factorise(m, 1e-9).log_det()))(matrix)
    np.testing.assert_allclose(gradient, np.linalg.inv(matrix), rtol=1e-6)


def test_jitter_grows_until_the_matrix_factorises_and_is_reported():
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((4, 4)))[0]
    # With mean diagonal about 3/4, the relative jitter that lifts -1e-4 above zero is the third power of ten above
    # 1e-6.
    matrix = rotation @ np.diag([1.0, 1.0, 1.0, -1e-4]) @ rotation.T
    matrix = 0.5 * (matrix + matrix.T)
    chol, inverse, jitter, _ = parts(matrix)
    assert np.all(np.isfinite(chol)) and np.all(np.isfinite(inverse))
    np.testing.assert_allclose(jitter, 1e-3, rtol=1e-12)
    np.testing.assert_allclose(chol @ chol.T, matrix + 1e-3 * np.mean(np.diag(matrix)) * np.eye(4), atol=1e-12)
    np.testing.assert_allclose(chol @ inverse, np.eye(4), atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_singular_matrix_factorises_with_finite_derivatives(dtype):
    # Two pairs of equal inducing inputs: rank three of five.
    points = np.array([0.0, 0.0, 1.0, 1.0, 2.0])
    matrix = np.exp(-0.5 * (points[:, None] - points) ** 2).astype(dtype)
    jitter = base_jitter(jnp.dtype(dtype))

    def loss(m: jax.Array) -> tuple[jax.Array, Factor]:
        factor = factorise(m, jitter)
        return jnp.sum(factor.inverse**2), factor

    gradient, factor = jit(jax.grad(loss, has_aux=True))(matrix)
    assert factor.chol.dtype == dtype and gradient.dtype == dtype
    assert factor.jitter <= 10 * jitter
    assert np.all(np.isfinite(factor.inverse)) and np.all(np.isfinite(gradient))
    np.testing.assert_allclose(factor.chol @ factor.chol.T, matrix, atol=1e-3 if dtype == np.float32 else 1e-5)


@pytest.mark.timeout(120)
def test_a_hopeless_matrix_gives_nan_and_ends():
    chol, inverse, jitter, _ = parts(-np.eye(5))
    assert np.all(np.isnan(np.diag(chol))) and np.all(np.isnan(np.diag(inverse)))
    np.testing.assert_allclose(jitter, 1e-6 * 10.0**ESCALATIONS, rtol=1e-6)
    assert np.all(np.isnan(np.diag(parts(np.full((5, 5), np.nan))[0])))


def test_in_a_batch_each_matrix_has_its_own_jitter_and_its_own_failure():
    good, bad = positive(np.random.default_rng(3), 4), -np.eye(4)
    singular = np.diag([1.0, 1.0, 1.0, -1e-4])
    chols, _, jitters, _ = jit(jax.vmap(pieces))(np.stack([good, bad, singular]))
    np.testing.assert_array_equal(chols[0], parts(good)[0])
    assert np.all(np.isnan(np.diag(chols[1]))) and np.all(np.isfinite(chols[2]))
    assert jitters[0] == 1e-6 and jitters[2] > jitters[0]


@pytest.mark.timeout(120)
def test_batched_factorisations_with_gradients_do_not_deadlock():
    """Independent batched LAPACK calls in one compiled function can wait for each other for ever on two cores."""

    def matrices(points: jax.Array) -> list[jax.Array]:
        squares = jnp.sum((points[:, None] - points[None]) ** 2, axis=-1)
        return [jnp.exp(-0.5 * squares), jnp.exp(-jnp.sqrt(squares + 1e-6)), jnp.exp(-2.0 * squares)]

    def loss(points: jax.Array) -> jax.Array:
        factors = [factorise(matrix, 1e-3) for matrix in matrices(points)]
        return sum((jnp.sum(factor.inverse) + factor.log_det() for factor in factors), jnp.zeros(()))

    compiled = jit(jax.vmap(jax.value_and_grad(loss)))
    points = np.random.default_rng(0).standard_normal((4, 100, 3))
    for _ in range(3):
        values, gradients = jax.block_until_ready(compiled(points))
    assert np.all(np.isfinite(gradients))
    chols = [np.linalg.cholesky(np.asarray(matrix) + 1e-3 * np.eye(100)) for matrix in matrices(points[3])]
    expected = sum(np.sum(np.linalg.inv(chol)) + 2.0 * np.sum(np.log(np.diag(chol))) for chol in chols)
    np.testing.assert_allclose(values[3], expected, rtol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 4, 9])
def test_small_cholesky_equals_numpy_for_any_batch(size):
    matrices = positive(np.random.default_rng(4), size, 3, 2)
    np.testing.assert_allclose(jit(small_cholesky)(matrices), np.linalg.cholesky(matrices), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", [3, 9])
def test_derivatives_of_small_cholesky(size):
    root = np.random.default_rng(5).standard_normal((2, size, size))
    assert_derivatives(lambda r: small_cholesky(r @ jnp.swapaxes(r, -1, -2) + jnp.eye(size)[None]), root)


def test_jitters_fit_the_precision():
    assert 0.0 < rounding_jitter(jnp.dtype(np.float64)) < 1e-13 < rounding_jitter(jnp.dtype(np.float32)) < 1e-5
    assert 0.0 < base_jitter(jnp.dtype(np.float64)) < base_jitter(jnp.dtype(np.float32)) < 1e-4


def test_a_weighted_gram_and_its_derivatives():
    """Against central differences of the sum that defines it, with a cotangent that is not symmetric."""
    rng = np.random.default_rng(0)
    rows, weights, cotangent = rng.standard_normal((3, 7)), rng.uniform(0.5, 2.0, 7), rng.standard_normal((3, 3))

    def value(rows: np.ndarray, weights: np.ndarray) -> float:
        return float(np.einsum("ij,in,n,jn->", cotangent, rows, weights, rows))

    gram, pull = jax.vjp(weighted_gram, jnp.asarray(rows), jnp.asarray(weights))
    np.testing.assert_allclose(gram, np.einsum("in,n,jn->ij", rows, weights, rows), rtol=1e-13)
    for part, slope in enumerate(pull(jnp.asarray(cotangent))):
        point = (rows, weights)[part]
        for index in np.ndindex(*point.shape):
            step = np.zeros_like(point)
            step[index] = 1e-5
            there = [point + step, point - step]
            ends = [value(moved, weights) if part == 0 else value(rows, moved) for moved in there]
            assert float(slope[index]) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-7, abs=1e-8)
