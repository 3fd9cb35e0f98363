"""Function draws from the prior have the kernel as their covariance."""

from functools import partial

import equinox as eqx
import gpjax.kernels as gk
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm._params import cast
from gpssm.kernels import draw_prior
from tests.reference import kernels as plain
from tests.reference.kernel_cases import CASES, INPUTS
from tests.reference.montecarlo import assert_covariance

KNOWN = [
    "RBF",
    "Matern12",
    "Matern32",
    "Matern52",
    "Linear + ArcCosine0 + RBF",
    "sum over columns",
    "Manifold, 5 layers",
]
UNKNOWN = ["RationalQuadratic", "RBF * Matern52", "Manifold of a sum"]

draw = partial(draw_prior, inputs=INPUTS, dtype=jnp.dtype(np.float64))


@eqx.filter_jit
def values(kernel: gk.AbstractKernel, keys: jax.Array, points: jax.Array) -> jax.Array:
    """Drawn functions at some points, one row a draw."""
    return jax.vmap(lambda key: jax.vmap(draw(kernel, num_features=6, key=key))(points))(keys)


@pytest.mark.parametrize("name", KNOWN)
def test_covariance_of_draws_is_the_kernel(name):
    kernel, twin = CASES[name]()
    points = np.random.default_rng(0).standard_normal((4, INPUTS))
    # The last point lies close to the first: there a wrong smoothness shows.
    points[3] = points[0] + 0.05
    samples = values(cast(kernel, np.float64), jr.split(jr.key(0), 20_000), points)
    # Over draws of the features too, the covariance is exact for any number of them.
    assert_covariance(np.asarray(samples), np.zeros(4), plain.matrix(twin, points, points))


def test_a_draw_is_one_function():
    kernel = cast(CASES["RBF"]()[0], np.float64)
    function = draw(kernel, num_features=50, key=jr.key(2))
    point = jnp.ones(INPUTS)
    assert function(point) == function(point)
    slope = jax.jit(jax.grad(function))(point)
    assert np.all(np.isfinite(slope)) and np.any(slope != 0.0)


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_kernel_without_known_features_gives_none(name):
    assert draw(CASES[name]()[0], num_features=5, key=jr.key(3)) is None


def test_draws_follow_the_parameters():
    """The draw is differentiable in the kernel's parameters: its random numbers do not depend on them."""
    kernel = cast(gk.Matern12(lengthscale=0.5), np.float64)
    gradient = eqx.filter_jit(
        eqx.filter_grad(lambda k: draw(k, num_features=20, key=jr.key(4))(jnp.array([0.3, -0.2, 1.0])))
    )(kernel)
    assert all(np.all(np.isfinite(leaf)) and np.all(leaf != 0.0) for leaf in jax.tree.leaves(gradient))
