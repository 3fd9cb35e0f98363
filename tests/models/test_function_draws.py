"""Functions drawn from the posterior have its mean and its covariance, also between points."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm.models import SparseGP
from tests.reference.compiling import constant, jit
from tests.reference.montecarlo import assert_covariance, assert_mean
from tests.reference.transition_cases import Case, D, M, P, make

CASES = [("RBF", "RBF + Matern12"), ("ArcCosine0", "Manifold, 5 layers"), ("RationalQuadratic", "RBF * Matern52")]
UNKNOWN = CASES[2]
POINTS, DRAWS = 3, 5_000


@constant
def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    # The last point is far from all inducing inputs: there a draw is a draw from the prior.
    scale = np.array([[0.5], [0.5], [4.0]])
    return scale * rng.standard_normal((POINTS, D)), scale * rng.standard_normal((POINTS, P))


@jit
def draws(transition: SparseGP, keys: jax.Array, x: jax.Array, u: jax.Array) -> tuple[jax.Array, ...]:
    """Values (draw, point, state) of drawn functions, the last point twice, and the moments they should have."""
    dynamics = transition.condition()

    def one(key: jax.Array) -> jax.Array:
        draw_key, *point_keys = jr.split(key, POINTS + 2)
        function = dynamics.draw(num_features=6, key=draw_key)
        again = (*range(POINTS), POINTS - 1)
        return jax.vmap(lambda a, b, k: function(a, b, key=k))(x[again,], u[again,], jnp.stack(point_keys))

    return jax.vmap(one)(keys), *dynamics.function_moments(x, u)


@constant
def samples(names: tuple[str, str]) -> tuple[Case, np.ndarray, np.ndarray, np.ndarray]:
    case = make(*names, seed=1)
    return case, *map(np.asarray, draws(case.transition, jr.split(jr.key(0), DRAWS), *points()))


@pytest.mark.parametrize("names", CASES, ids=", ".join)
def test_draws_have_the_mean_and_covariance_of_the_posterior(names):
    x, u = points()
    case, values, means, variances = samples(names)
    values = values[:, :POINTS]
    assert_mean(values, means)
    assert_mean((values - means) ** 2, variances)
    for d, gp in enumerate(case.gps):
        z = np.concatenate([x, u], axis=1)
        mean, covariance = gp.predict(z)
        if names == UNKNOWN:
            # Only the inducing values are held; what they do not explain is drawn afresh at each point.
            projection, unexplained = gp.conditional(z)
            covariance = projection @ gp.covariance @ projection.T + np.diag(np.diag(unexplained))
        assert_covariance(values[:, :, d], x[:, d] + mean, covariance)
    # The states have their own functions: no correlation between them.
    assert_mean(np.prod(values - means, axis=-1), np.zeros(POINTS))


@pytest.mark.parametrize("names", CASES, ids=", ".join)
def test_a_draw_is_one_function_where_features_are_known_and_not_otherwise(names):
    values = samples(names)[1]
    once, again = values[:, POINTS - 1], values[:, POINTS]
    if names == UNKNOWN:
        assert np.all(once != again)
    else:
        np.testing.assert_allclose(once, again, rtol=1e-12, atol=1e-12)


def test_a_draw_passes_through_certain_inducing_values():
    """With q(u) certain, every draw takes its values at the inducing inputs, up to the jitter."""
    case = samples(CASES[0])[0]
    raw = jnp.broadcast_to(-20.0 * jnp.eye(M), (D, M, M))
    certain = eqx.tree_at(lambda t: t.q_chol.raw, case.transition, raw)
    z = np.asarray(case.transition.inducing)[:POINTS]
    values, means, variances = draws(certain, jr.split(jr.key(1), DRAWS), z[:, :D], z[:, D:])
    expected = z[:, :D] + np.stack([gp.mean[:POINTS] for gp in case.gps], axis=1)
    np.testing.assert_allclose(means, expected, atol=1e-4)
    np.testing.assert_allclose(variances, 0.0, atol=1e-5)
    np.testing.assert_allclose(values[:, :POINTS], np.broadcast_to(expected, (DRAWS, POINTS, D)), atol=0.02)
