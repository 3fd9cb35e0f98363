"""Deterministic expectations over the states: what their nodes and weights must integrate exactly."""

import itertools

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from gpssm.inference import Cubature, GaussHermite
from gpssm.models import GaussMarkov
from tests.reference.compiling import jit

T = 3
pytestmark = pytest.mark.system


def chain(dims: int) -> tuple[GaussMarkov, np.ndarray]:
    """A posterior, and the covariance of each of its states."""
    rng = np.random.default_rng(dims)
    gains = 0.5 * rng.standard_normal((T, dims, dims))
    chols = np.tril(0.4 * rng.standard_normal((T, dims, dims))) + np.eye(dims)
    covariances, before = [], np.zeros((dims, dims))
    for gain, chol in zip(gains, chols, strict=True):
        before = gain @ before @ gain.T * bool(covariances) + chol @ chol.T
        covariances.append(before)
    return GaussMarkov(*map(jnp.asarray, (rng.standard_normal((T, dims)), gains, chols))), np.stack(covariances)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("rule", [Cubature(), GaussHermite(4)], ids=lambda r: type(r).__name__)
def test_moments_up_to_the_third_are_exact(rule, dims):
    posterior, covariances = chain(dims)
    nodes, weights = map(np.asarray, jit(lambda p, c: rule.states(p, c, key=jr.key(0)))(posterior, covariances))
    means = np.asarray(posterior.means)
    away = nodes - means
    assert weights.sum() == pytest.approx(1.0)
    assert_allclose(np.einsum("k,ktd->td", weights, nodes), means, atol=1e-12)
    assert_allclose(np.einsum("k,kti,ktj->tij", weights, away, away), covariances, atol=1e-12)
    for i, j, k in itertools.product(range(dims), repeat=3):
        assert_allclose(weights @ (away[..., i] * away[..., j] * away[..., k]), np.zeros(T), atol=1e-12)


def test_four_nodes_are_exact_up_to_the_seventh_power():
    posterior, covariances = chain(1)
    states = jit(lambda p, c: GaussHermite(4).states(p, c, key=jr.key(0)))
    nodes, weights = map(np.asarray, states(posterior, covariances))
    away = (nodes - np.asarray(posterior.means))[..., 0]
    variance = covariances[:, 0, 0]
    for power, factor in ((4, 3.0), (5, 0.0), (6, 15.0), (7, 0.0)):
        assert_allclose(weights @ away**power, factor * variance ** (power / 2), rtol=1e-10, atol=1e-10)
