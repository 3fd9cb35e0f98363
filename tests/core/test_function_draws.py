"""Functions drawn from the posterior have its mean and its covariance, also between points."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm import SparseGP
from tests.reference.compiling import jit
from tests.reference.montecarlo import assert_covariance, assert_mean
from tests.reference.transition_cases import D, P, make

CASES = [("RBF", "RBF + Matern12"), ("ArcCosine0", "Manifold, 5 layers"), ("RationalQuadratic", "RBF * Matern52")]
UNKNOWN = CASES[2]
POINTS, DRAWS = 3, 5_000


@cache
def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    # The last point is far from all inducing inputs: there a draw is a draw from the prior.
    scale = np.array([[0.5], [0.5], [4.0]])
    return scale * rng.standard_normal((POINTS, D)), scale * rng.standard_normal((POINTS, P))


@jit
def draws(transition: SparseGP, keys: jax.Array, x: jax.Array, u: jax.Array) -> tuple[jax.Array, ...]:
    """Values (draw, point, state) of drawn functions, and the moments they should have."""
    dynamics = transition.condition()

    def one(key: jax.Array) -> jax.Array:
        draw_key, *point_keys = jr.split(key, POINTS + 1)
        function = dynamics.draw(num_features=6, key=draw_key)
        return jnp.stack([function(x[i], u[i], key=point_keys[i]) for i in range(POINTS)])

    return jax.vmap(one)(keys), *dynamics.function_moments(x, u)


@pytest.mark.parametrize("names", CASES, ids=", ".join)
def test_draws_have_the_mean_and_covariance_of_the_posterior(names):
    case = make(*names, seed=1)
    x, u = points()
    values, means, variances = draws(case.transition, jr.split(jr.key(0), DRAWS), x, u)
    values = np.asarray(values)
    assert_mean(values, means)
    assert_mean((values - np.asarray(means)) ** 2, variances)
    for d, gp in enumerate(case.gps):
        z = np.concatenate([x, u], axis=1)
        mean, covariance = gp.predict(z)
        if names == UNKNOWN:
            # Only the inducing values are held; what they do not explain is drawn afresh at each point.
            projection, unexplained = gp.conditional(z)
            covariance = projection @ gp.covariance @ projection.T + np.diag(np.diag(unexplained))
        assert_covariance(values[:, :, d], x[:, d] + mean, covariance)
    # The states have their own functions: no correlation between them.
    products = (values[:, :, 0] - np.asarray(means)[:, 0]) * (values[:, :, 1] - np.asarray(means)[:, 1])
    assert_mean(products, np.zeros(POINTS))


@jit
def at_two_keys(transition: SparseGP, x: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
    function = transition.condition().draw(num_features=6, key=jr.key(1))
    return function(x, u, key=jr.key(2)), function(x, u, key=jr.key(3))


def test_a_draw_is_one_function_where_features_are_known_and_not_otherwise():
    x, u = (jnp.asarray(a[2]) for a in points())
    first, second = at_two_keys(make(*CASES[0]).transition, x, u)
    np.testing.assert_array_equal(first, second)
    first, second = at_two_keys(make(*UNKNOWN).transition, x, u)
    assert np.all(first != second)


def test_a_draw_passes_through_certain_inducing_values():
    """With q(u) certain, every draw takes its values at the inducing inputs, up to the jitter."""
    case = make(*CASES[0], whitened=False)
    certain = eqx.tree_at(lambda t: t.q_chol.raw, case.transition, jnp.full((D, 5, 5), 0.0) - 20.0 * jnp.eye(5)[None])
    z = np.asarray(case.transition.inducing)[1]
    value, _ = at_two_keys(certain, jnp.asarray(z[:D]), jnp.asarray(z[D:]))
    np.testing.assert_allclose(value, z[:D] + np.asarray(case.transition.q_mean)[:, 1], atol=1e-3)
