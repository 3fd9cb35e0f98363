"""Kernel matrices: plain NumPy twins, pairwise calls, definiteness, and gradients where two points meet."""

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

from gpssm._core._params import cast
from gpssm.kernels import Angles, ArcCosine0, Manifold, cross_covariance, diagonal
from tests.reference import kernels as plain
from tests.reference.compiling import constant, jit
from tests.reference.kernel_cases import CASES, INPUTS
from tests.reference.montecarlo import assert_mean

N = 5
every_kernel = pytest.mark.parametrize("name", CASES)
Kernels = dict[str, gk.AbstractKernel]


@constant
def kernels(dtype: type) -> Kernels:
    return cast({name: make()[0] for name, make in CASES.items()}, dtype)


# All kernels in one compiled function: compiling them one by one would take most of the time of these tests.
@jit
def evaluate(every: Kernels, x: jax.Array, y: jax.Array) -> dict[str, tuple[jax.Array, jax.Array, jax.Array]]:
    """Matrix, diagonal, and one entry of the matrix by a direct call."""
    return {name: (cross_covariance(k, x, y), diagonal(k, x), k(x[1], y[2])) for name, k in every.items()}


def total(arguments: tuple[gk.AbstractKernel, jax.Array, jax.Array], weights: jax.Array) -> jax.Array:
    kernel, x, y = arguments
    return jnp.sum(weights * cross_covariance(kernel, x, y)) + jnp.sum(diagonal(kernel, x))


@jit
def gradients(every: Kernels, x: jax.Array, y: jax.Array, weights: jax.Array) -> dict[str, tuple[jax.Array, object]]:
    """A weighted sum of the whole matrix and the diagonal, with its gradient in parameters and both sets of inputs."""
    return {name: eqx.filter_value_and_grad(total)((k, x, y), weights) for name, k in every.items()}


@constant
def at_generic_points() -> tuple[np.ndarray, np.ndarray, dict]:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((N, INPUTS)), rng.standard_normal((N, INPUTS))
    return x, y, evaluate(kernels(np.float64), x, y)


@constant
def gradients_at_coincident_points(dtype: type) -> dict:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N, INPUTS)).astype(dtype)
    x[1] = x[0]
    x[2] = 0.0
    return gradients(kernels(dtype), x, x.copy(), rng.standard_normal((N, N)).astype(dtype))


@every_kernel
def test_matrices_equal_numpy_and_pairwise_calls(name):
    x, y, results = at_generic_points()
    twin = CASES[name]()[1]
    matrix, variances, entry = results[name]
    np.testing.assert_allclose(matrix, plain.matrix(twin, x, y), rtol=1e-10, atol=1e-12)
    # The twin's arc-cosine loses half of the digits where the points coincide.
    np.testing.assert_allclose(variances, plain.variances(twin, x), rtol=1e-7)
    np.testing.assert_allclose(matrix[1, 2], entry, rtol=1e-12)


@settings(deadline=None, max_examples=15)
@given(hnp.arrays(np.float64, (N, INPUTS), elements=st.floats(-4.0, 4.0)))
def test_gram_matrices_are_positive_semi_definite(x):
    for name, (matrix, variances, _) in evaluate(kernels(np.float64), x, x).items():
        matrix = np.asarray(matrix)
        np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(np.diag(matrix), variances, rtol=1e-7, atol=1e-12, err_msg=name)
        assert np.min(np.linalg.eigvalsh(matrix)) >= -1e-7 * (1.0 + np.trace(matrix)), name


@every_kernel
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_and_gradients_are_finite_where_points_coincide(name, dtype):
    value, gradient = gradients_at_coincident_points(dtype)[name]
    leaves = jax.tree.leaves((value, gradient))
    assert all(leaf.dtype == dtype for leaf in leaves)
    assert all(np.all(np.isfinite(leaf)) for leaf in leaves)
    # Each parameter matters.
    assert all(np.any(leaf != 0.0) for leaf in jax.tree.leaves(gradient[0]))


def test_gradients_equal_differences():
    every = kernels(np.float64)
    rng = np.random.default_rng(2)
    x, y, weights = (rng.standard_normal(shape) for shape in ((N, INPUTS), (N, INPUTS), (N, N)))
    arrays, static = eqx.partition((every, x, y), eqx.is_inexact_array_like)
    directions = jax.tree.map(lambda leaf: rng.standard_normal(leaf.shape), arrays)

    def along(step: float) -> dict:
        moved = jax.tree.map(lambda leaf, d: np.asarray(leaf) + step * d, arrays, directions)
        return gradients(*eqx.combine(moved, static), weights)

    ahead, behind, here = along(1e-5), along(-1e-5), along(0.0)
    for name in every:
        expected = (ahead[name][0] - behind[name][0]) / 2e-5
        pairs = zip(
            jax.tree.leaves(here[name][1]),
            jax.tree.leaves((directions[0][name], *directions[1:])),
            strict=True,
        )
        slope = sum(np.sum(np.asarray(g) * d) for g, d in pairs)
        np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6, err_msg=name)


def test_arccosine_is_the_chance_that_two_steps_agree():
    """k = 2 variance P(w'a > 0 and w'b > 0) for a random direction w: an infinite layer of step functions."""
    x, y = np.array([0.5, -1.0, 0.2]), np.array([1.5, 0.3, -0.4])
    normals = np.random.default_rng(3).standard_normal((40_000, INPUTS + 1)) * np.sqrt([0.6, 0.6, 0.6, 0.3])
    active = (normals @ np.append(x, 1.0) > 0) & (normals @ np.append(y, 1.0) > 0)
    results = evaluate(kernels(np.float64), np.tile(x, (N, 1)), np.tile(y, (N, 1)))
    assert_mean(2.0 * 1.4 * active, results["ArcCosine0"][0][0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arccosine_near_coincidence_keeps_its_digits_and_its_slope(dtype):
    """Near x the kernel falls by variance / pi times the angle; no plain arc-cosine gets this right in single
    precision."""
    kernel = cast(ArcCosine0(), dtype)
    gaps = np.array([1e-5 if dtype == np.float32 else 1e-9, 1e-3, 1e-2, 0.1, 1.0], dtype)

    def fall(gap: jax.Array) -> jax.Array:
        # At the origin of one input, (x, 1) turns by arctan(gap).
        return kernel(jnp.stack([gap]), jnp.zeros(1, dtype))

    slopes = jit(jax.vmap(jax.grad(fall)))(gaps)
    exact = -1.0 / (np.pi * (1.0 + gaps.astype(np.float64) ** 2))
    np.testing.assert_allclose(slopes, exact, rtol=1e-4 if dtype == np.float32 else 1e-7)


@pytest.mark.parametrize("kind", [gk.Matern12, gk.Matern32, gk.Matern52, gk.RBF])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_stay_exact_as_two_points_approach(kind, dtype):
    """Two points that agree in their large coordinates and nearly in a small one: rounding must not be blown up."""
    kernel, point = cast(kind(lengthscale=0.5), dtype), np.array([5.1, -3.3, 0.0], dtype)
    gaps = 10.0 ** -np.arange(2, 16)

    def value(x: jax.Array, y: jax.Array) -> jax.Array:
        return cross_covariance(kernel, x[None], y[None])[0, 0]

    points = point + gaps[:, None].astype(dtype) * np.array([0.0, 0.0, 1.0], dtype)
    gradients = jit(jax.vmap(jax.grad(value), in_axes=(0, None)))(points, point)
    r = gaps / 0.5
    exact = {
        gk.Matern12: -2.0 * np.exp(-r),
        gk.Matern32: -2.0 * 3.0 * r * np.exp(-(3.0**0.5) * r),
        gk.Matern52: -2.0 * 5.0 / 3.0 * r * (1.0 + 5.0**0.5 * r) * np.exp(-(5.0**0.5) * r),
        gk.RBF: -2.0 * r * np.exp(-0.5 * r**2),
    }[kind]
    tolerance = 1e3 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(gradients[:, 2], exact, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(gradients[:, :2], 0.0, atol=tolerance)


def test_matrices_may_be_empty():
    for name, (matrix, variances, _) in evaluate_empty(kernels(np.float64)).items():
        assert matrix.shape == (N, 0) and variances.shape == (0,), name


@jit
def evaluate_empty(every: Kernels) -> dict:
    none, some = jnp.zeros((0, INPUTS)), jnp.ones((N, INPUTS))
    return {name: (cross_covariance(k, some, none), diagonal(k, none), none) for name, k in every.items()}


def test_stationary_variance_is_a_scalar_for_any_shape_of_parameter():
    kernel = gk.RBF(variance=jnp.array([0.7]))
    np.testing.assert_allclose(diagonal(kernel, jnp.zeros((4, 2))), np.full(4, 0.7), rtol=1e-12)


def test_a_manifold_needs_a_layer():
    with pytest.raises(ValueError, match="at least one layer"):
        Manifold(gk.RBF(), inputs=2, widths=(), key=jr.key(0))


def test_a_manifold_maps_points_and_batches_alike():
    kernel = kernels(np.float64)["Manifold, 5 layers"]
    x = np.random.default_rng(4).standard_normal((2, N, INPUTS))
    batch = kernel.features(jnp.asarray(x))
    assert batch.shape == (2, N, 3)
    np.testing.assert_allclose(batch[1, 3], kernel.features(jnp.asarray(x[1, 3])), rtol=1e-12)


def test_angles_a_full_turn_apart_are_the_same_point():
    kernel = kernels(np.float64)["Angles"]
    x = np.random.default_rng(3).standard_normal((4, INPUTS))
    turned = x + np.array([0.0, 2.0 * np.pi / 2.5, 0.0])
    half = x + np.array([0.0, np.pi / 2.5, 0.0])
    x, turned, half = (jnp.asarray(points) for points in (x, turned, half))
    same = np.asarray(cross_covariance(kernel, x, x))
    np.testing.assert_allclose(np.asarray(cross_covariance(kernel, turned, x)), same, rtol=1e-12)
    assert np.abs(np.asarray(cross_covariance(kernel, half, x)) - same).max() > 0.1


@pytest.mark.parametrize(
    ("inputs", "radians"),
    [((), ()), ((0, 0), (1.0, 1.0)), ((-1,), (1.0,)), ((0,), ()), ((0,), (0.0,)), ((0,), (np.nan,))],
)
def test_angles_that_make_no_sense_are_refused(inputs, radians):
    with pytest.raises(ValueError, match=r"inputs=|radians="):
        Angles(gk.RBF(), inputs=inputs, radians=radians)


def test_an_angle_that_the_points_do_not_have_is_named():
    with pytest.raises(ValueError, match="points have 3 coordinates"):
        cross_covariance(Angles(gk.RBF(), inputs=(3,), radians=(1.0,)), jnp.zeros((2, 3)), jnp.zeros((2, 3)))
