"""The coordinates in which q(X) is polished: the same family, and Fisher's information is the identity in them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from gpssm.inference import AbstractRecognition, PerStepStates, WhitenedStates
from gpssm.models import Batch, GaussMarkov

LENGTH, DIMS = 4, 2


def chains_of(batch: int, *, diagonal: bool) -> GaussMarkov:
    rng = np.random.default_rng(0)
    gains, chols = rng.standard_normal((2, batch, LENGTH, DIMS, DIMS))
    chols = np.tril(chols, -1) + np.eye(DIMS) * np.exp(0.5 * chols)
    if diagonal:
        gains, chols = gains * np.eye(DIMS), chols * np.eye(DIMS)
    means = rng.standard_normal((batch, LENGTH, DIMS))
    return GaussMarkov(*(jnp.asarray(part) for part in (means, gains, chols)))


def episode(valid: int = LENGTH, index: int | Array = 0) -> Batch:
    blank, counts = jnp.asarray(np.zeros((LENGTH, 1))), jnp.asarray(np.arange(LENGTH) < valid)
    none = jnp.asarray(np.zeros((LENGTH, 0)))
    place = jnp.asarray(index, jnp.int32)
    return Batch(
        y=blank,
        u=none,
        valid=counts,
        observed=jnp.asarray((np.arange(LENGTH) < valid)[:, None]),
        weight=jnp.asarray(1.0),
        index=place,
    )


@eqx.filter_jit
def posterior(states: AbstractRecognition, one: Batch) -> GaussMarkov:
    """In one program: outside of one, each operation would be another."""
    return states.posterior(one)


def dense(chain: GaussMarkov) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the whole trajectory, by the definition of the chain."""
    size = LENGTH * DIMS
    mixing, noise = np.eye(size), np.zeros((size, size))
    for t in range(LENGTH):
        now = slice(t * DIMS, (t + 1) * DIMS)
        chol = np.asarray(chain.chols[t])
        noise[now, now] = chol @ chol.T
        if t:
            mixing[now, (t - 1) * DIMS : t * DIMS] = -np.asarray(chain.gains[t])
    inverse = np.linalg.inv(mixing)
    return np.asarray(chain.means).ravel(), inverse @ noise @ inverse.T


def divergence(p: tuple[np.ndarray, np.ndarray], q: tuple[np.ndarray, np.ndarray]) -> float:
    """KL[p || q] of two Gaussians."""
    precision, shift = np.linalg.inv(q[1]), p[0] - q[0]
    ratio = np.linalg.slogdet(q[1])[1] - np.linalg.slogdet(p[1])[1]
    return 0.5 * float(np.trace(precision @ p[1]) + shift @ precision @ shift - len(shift) + ratio)


@eqx.filter_jit
def covariances_of(chains: GaussMarkov) -> Array:
    return jax.vmap(lambda chain: chain.covariances())(chains)


def whitened(chains: GaussMarkov, *, spread: float = 1.0, diagonal: bool = False) -> WhitenedStates:
    covariances = np.asarray(covariances_of(chains))
    return WhitenedStates.about_chains(chains, covariances, spread=spread, diagonal=diagonal)


@pytest.mark.parametrize("diagonal", [False, True])
def test_they_start_where_they_are_taken(diagonal: bool):
    chains = chains_of(3, diagonal=diagonal)
    for index in range(3):
        made = posterior(whitened(chains, spread=7.0, diagonal=diagonal), episode(index=index))
        for part, given in zip(jax.tree.leaves(made), jax.tree.leaves(chains), strict=True):
            np.testing.assert_array_equal(part, given[index])


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_a_short_step_in_any_direction_moves_the_posterior_equally_far(diagonal: bool, spread: float):
    """KL = |step|^2 / 2 to second order: neither a factor, nor a turn, nor a transposed matrix would pass."""
    states = whitened(chains_of(1, diagonal=diagonal), spread=spread, diagonal=diagonal)
    start = dense(posterior(states, episode()))
    at = (states.means_at, states.gains_at, states.factors_at)
    rng = np.random.default_rng(1)
    for part in range(4):
        # Each kind of coordinate alone, then all of them together.
        direction = [rng.standard_normal(a.shape) * (part in (kind, 3)) for kind, a in enumerate(at)]
        direction[1][:, 0] = 0.0  # the first gain is not used
        if diagonal:
            direction[1] *= np.eye(DIMS)
        length = sum(float(np.sum(d**2)) for d in direction) ** 0.5
        step = tuple(jnp.asarray(1e-4 / (spread * length) * d) for d in direction)
        moved = eqx.tree_at(lambda s: (s.means_at, s.gains_at, s.factors_at), states, step)
        far = divergence(dense(posterior(moved, episode())), start)
        assert far == pytest.approx(0.5e-8, rel=2e-3)


def test_the_step_may_be_long_and_stays_in_the_family():
    """Whatever the coordinates, the same chain can be written as states at each step."""
    states = whitened(chains_of(2, diagonal=False))
    rng = np.random.default_rng(2)
    moved = jax.tree.map(
        lambda leaf: jnp.asarray(rng.standard_normal(leaf.shape)), (states.means_at, states.gains_at, states.factors_at)
    )
    states = eqx.tree_at(lambda s: (s.means_at, s.gains_at, s.factors_at), states, moved)
    made = jax.vmap(lambda index: posterior(states, episode(index=index)))(jnp.arange(2))
    again = PerStepStates.from_posterior(made)
    for index in range(2):
        for part, given in zip(
            jax.tree.leaves(posterior(again, episode(index=index))), jax.tree.leaves(made), strict=True
        ):
            np.testing.assert_allclose(part, given[index], rtol=1e-12, atol=1e-14)


def test_padding_does_not_move():
    states = whitened(chains_of(1, diagonal=False))
    moved = eqx.tree_at(lambda s: s.means_at, states, jnp.asarray(np.ones(states.means_at.shape)))
    made = posterior(moved, episode(valid=2))
    np.testing.assert_array_equal(made.means[2:], 0.0)
    np.testing.assert_array_equal(made.chols[2:], np.broadcast_to(np.eye(DIMS), (2, DIMS, DIMS)))
    np.testing.assert_allclose(made.means[:2], posterior(moved, episode()).means[:2])
