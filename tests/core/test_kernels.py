"""Kernel matrices: plain NumPy twins, pairwise calls, definiteness, and gradients where two points meet."""

from functools import cache

import equinox as eqx
import gpjax.kernels as gk
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpssm._params import cast
from gpssm.kernels import ArcCosine0, Manifold, cross_covariance, diagonal
from tests.reference import kernels as plain
from tests.reference.kernel_cases import CASES, INPUTS
from tests.reference.montecarlo import assert_mean

N = 5
every_kernel = pytest.mark.parametrize("name", CASES)


@cache
def case(name: str) -> tuple[gk.AbstractKernel, plain.Kernel]:
    kernel, twin = CASES[name]()
    return cast(kernel, np.float64), twin


@eqx.filter_jit
def evaluate(kernel: gk.AbstractKernel, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    return cross_covariance(kernel, x, y), diagonal(kernel, x)


@eqx.filter_jit
def value_and_gradients(kernel: gk.AbstractKernel, x: jax.Array, y: jax.Array, weights: jax.Array):
    """A weighted sum of the whole matrix and the diagonal, with its gradient in parameters and both sets of inputs."""

    def total(arguments: tuple[gk.AbstractKernel, jax.Array, jax.Array]) -> jax.Array:
        k, a, b = arguments
        return jnp.sum(weights * cross_covariance(k, a, b)) + jnp.sum(diagonal(k, a))

    return eqx.filter_value_and_grad(total)((kernel, x, y))


@every_kernel
def test_matrices_equal_numpy_and_pairwise_calls(name):
    kernel, twin = case(name)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((N, INPUTS)), rng.standard_normal((N, INPUTS))
    matrix, variances = evaluate(kernel, x, y)
    np.testing.assert_allclose(matrix, plain.matrix(twin, x, y), rtol=1e-10, atol=1e-12)
    # A plain arc-cosine loses half of the digits where the points coincide.
    np.testing.assert_allclose(variances, [twin(a, a) for a in x], rtol=1e-7)
    np.testing.assert_allclose(matrix[1, 2], kernel(jnp.asarray(x[1]), jnp.asarray(y[2])), rtol=1e-12)


@every_kernel
@settings(deadline=None, max_examples=8)
@given(hnp.arrays(np.float64, (N, INPUTS), elements=st.floats(-4.0, 4.0)))
def test_gram_matrices_are_positive_semi_definite(name, x):
    matrix, variances = evaluate(case(name)[0], x, x)
    matrix = np.asarray(matrix)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.diag(matrix), variances, rtol=1e-7, atol=1e-12)
    assert np.min(np.linalg.eigvalsh(matrix)) >= -1e-7 * (1.0 + np.trace(matrix))


@every_kernel
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_and_gradients_are_finite_where_points_coincide(name, dtype):
    kernel = cast(case(name)[0], dtype)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N, INPUTS)).astype(dtype)
    x[1] = x[0]
    x[2] = 0.0
    value, gradients = value_and_gradients(kernel, x, x.copy(), rng.standard_normal((N, N)).astype(dtype))
    leaves = jax.tree.leaves((value, gradients))
    assert all(leaf.dtype == dtype for leaf in leaves)
    assert all(np.all(np.isfinite(leaf)) for leaf in leaves)
    # Each parameter matters.
    assert all(np.any(leaf != 0.0) for leaf in jax.tree.leaves(gradients[0]))


@every_kernel
def test_gradients_equal_differences(name):
    kernel = case(name)[0]
    rng = np.random.default_rng(2)
    x, y, weights = (rng.standard_normal(shape) for shape in ((N, INPUTS), (N, INPUTS), (N, N)))
    arrays, static = eqx.partition((kernel, x, y), eqx.is_inexact_array_like)
    flat, unflatten = jax.flatten_util.ravel_pytree(arrays)
    direction = rng.standard_normal(flat.shape)

    def along(step: float) -> tuple[float, object]:
        k, a, b = eqx.combine(unflatten(flat + step * direction), static)
        return value_and_gradients(k, np.asarray(a), np.asarray(b), weights)

    expected = (along(1e-5)[0] - along(-1e-5)[0]) / 2e-5
    gradient = jax.flatten_util.ravel_pytree(along(0.0)[1])[0]
    np.testing.assert_allclose(np.sum(gradient * direction), expected, rtol=1e-5, atol=1e-6)


def test_arccosine_is_the_chance_that_two_steps_agree():
    """k = 2 variance P(w'a > 0 and w'b > 0) for a random direction w: an infinite layer of step functions."""
    x, y = np.array([0.5, -1.0, 0.2]), np.array([1.5, 0.3, -0.4])
    normals = np.random.default_rng(3).standard_normal((40_000, INPUTS + 1)) * np.sqrt([0.6, 0.6, 0.6, 0.3])
    active = (normals @ np.append(x, 1.0) > 0) & (normals @ np.append(y, 1.0) > 0)
    matrix, _ = evaluate(case("ArcCosine0")[0], np.tile(x, (N, 1)), np.tile(y, (N, 1)))
    assert_mean(2.0 * 1.4 * active, matrix[0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arccosine_near_coincidence_keeps_its_digits_and_its_slope(dtype):
    """Near x the kernel falls by variance / pi times the angle; no plain arc-cosine gets this right in single
    precision."""
    kernel = cast(ArcCosine0(), dtype)
    gaps = np.logspace(-3, -1 if dtype == np.float32 else -1, 5).astype(dtype)
    gaps = np.append(gaps, np.asarray(1e-5 if dtype == np.float32 else 1e-9, dtype))

    @jax.jit
    def fall(gap: jax.Array) -> jax.Array:
        # At the origin of one input, (x, 1) turns by arctan(gap).
        return kernel(jnp.stack([gap]), jnp.zeros(1, dtype))

    slopes = jax.jit(jax.vmap(jax.grad(fall)))(gaps)
    exact = -1.0 / (np.pi * (1.0 + gaps.astype(np.float64) ** 2))
    np.testing.assert_allclose(slopes, exact, rtol=1e-4 if dtype == np.float32 else 1e-7)


def test_stationary_variance_is_a_scalar_for_any_shape_of_parameter():
    kernel = gk.RBF(variance=jnp.array([0.7]))
    np.testing.assert_allclose(diagonal(kernel, jnp.zeros((4, 2))), np.full(4, 0.7), rtol=1e-12)


def test_a_manifold_needs_a_layer():
    with pytest.raises(ValueError, match="at least one layer"):
        Manifold(gk.RBF(), inputs=2, widths=(), key=jr.key(0))


def test_a_manifold_maps_points_and_batches_alike():
    kernel = case("Manifold, 5 layers")[0]
    x = np.random.default_rng(4).standard_normal((2, N, INPUTS))
    batch = kernel.features(jnp.asarray(x))
    assert batch.shape == (2, N, 3)
    np.testing.assert_allclose(batch[1, 3], kernel.features(jnp.asarray(x[1, 3])), rtol=1e-12)
