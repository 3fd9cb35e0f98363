"""Function draws from the prior have the kernel as their covariance."""

from functools import cache, partial

import equinox as eqx
import gpjax.kernels as gk
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm._core._params import cast
from gpssm.kernels import Manifold, draw_prior
from gpssm.kernels._features import random_directions
from tests.reference import kernels as plain
from tests.reference.compiling import jit
from tests.reference.kernel_cases import CASES, INPUTS
from tests.reference.montecarlo import assert_covariance, assert_mean

# Together they contain every kernel whose features are known.
KNOWN = ["Matern52", "Linear + ArcCosine0 + RBF", "sum over columns", "Manifold, 5 layers", "Angles"]
KINDS = ["RBF", "Matern12", "Matern32", "Matern52"]
UNKNOWN = ["RationalQuadratic", "RBF * Matern52", "Manifold of a sum"]

draw = partial(draw_prior, inputs=INPUTS, dtype=jnp.dtype(np.float64))


@cache
def samples() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Drawn functions of each kernel at some points, one row a draw; all in one compiled function, to save time."""
    points = np.random.default_rng(0).standard_normal((4, INPUTS))
    # The last point lies close to the first: there a wrong smoothness shows.
    points[3] = points[0] + 0.05
    kernels = {name: cast(CASES[name]()[0], np.float64) for name in KNOWN}

    @jit
    def values(keys: jax.Array) -> dict[str, jax.Array]:
        def one(kernel: gk.AbstractKernel, key: jax.Array) -> jax.Array:
            return jax.vmap(draw(kernel, num_features=5, key=key))(points)

        return {name: jax.vmap(partial(one, kernel))(keys) for name, kernel in kernels.items()}

    return points, jax.tree.map(np.asarray, values(jr.split(jr.key(0), 8_000)))


@pytest.mark.parametrize("name", KNOWN)
def test_covariance_of_draws_is_the_kernel(name):
    points, values = samples()
    twin = CASES[name]()[1]
    # Over draws of the features too, the covariance is exact for any number of them.
    assert_covariance(values[name], np.zeros(4), plain.matrix(twin, points, points))


@pytest.mark.system
@pytest.mark.parametrize("name", KINDS)
def test_frequencies_have_the_kernel_as_their_characteristic_function(name):
    """E cos(w'r) is the correlation at distance r, in length-scales. Neighbouring orders of a Matern kernel differ by
    a few hundredths there, which draws of functions would not show."""
    kernel, count = cast(CASES[name]()[0], np.float64), 200_000
    directions = random_directions(
        kernel, INPUTS, num_features=count, dtype=jnp.dtype(np.float64), key=jr.key(KINDS.index(name))
    )
    away = np.array([[0.3, 0.0, 0.0], [0.5, -0.4, 0.6], [1.0, 1.2, -0.8]])
    twin = plain.rbf(1.0, 1.0) if name == "RBF" else plain.matern(int(name[-2]), 1.0, 1.0)
    assert_mean(np.cos(np.asarray(directions) @ away.T), plain.matrix(twin, np.zeros((1, 3)), away)[0])


def test_a_draw_is_one_smooth_function_of_inputs_and_parameters():
    """The random numbers do not depend on the parameters, so that a draw can be differentiated in them."""

    @jit
    def value(kernel: gk.AbstractKernel, point: jax.Array, key: jax.Array) -> tuple[jax.Array, tuple]:
        def of(arguments: tuple[gk.AbstractKernel, jax.Array]) -> jax.Array:
            return draw(arguments[0], num_features=20, key=key)(arguments[1])

        return eqx.filter_value_and_grad(of)((kernel, point))

    kernel, point = cast(gk.RBF(lengthscale=0.5), np.float64), np.array([0.3, -0.2, 1.0])
    first, gradient = value(kernel, point, jr.key(4))
    assert first == value(kernel, point, jr.key(4))[0] != value(kernel, point, jr.key(5))[0]
    step = np.array([1e-6, 0.0, 0.0])
    slope = (value(kernel, point + step, jr.key(4))[0] - value(kernel, point - step, jr.key(4))[0]) / 2e-6
    np.testing.assert_allclose(gradient[1][0], slope, rtol=1e-6)
    assert all(np.all(np.isfinite(leaf)) and np.all(leaf != 0.0) for leaf in jax.tree.leaves(gradient))


def test_directions_of_a_manifold_are_those_of_its_last_layer():
    kernel = Manifold(gk.RBF(), inputs=INPUTS, widths=(4, 2), key=jr.key(0))
    directions = random_directions(kernel, INPUTS, num_features=5, dtype=jnp.dtype(np.float64), key=jr.key(1))
    assert directions is not None and directions.shape == (5, 2)


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_kernel_without_known_features_gives_none(name):
    assert draw(CASES[name]()[0], num_features=5, key=jr.key(3)) is None
