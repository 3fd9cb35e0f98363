"""Each group of parameters has a learning rate of its own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gpssm
from tests.fit.small_task import sparse_model


@pytest.fixture(scope="module")
def tree():
    model = sparse_model()
    model = eqx.tree_at(lambda m: m.emission, model, gpssm.LinearGaussian.first_states(1, 1, learn=True))
    means, eyes = jnp.zeros((2, 4, 1)), jnp.ones((2, 4, 1, 1))
    states = gpssm.PerStepStates.from_posterior(gpssm.GaussMarkov(means, eyes, eyes))
    return eqx.filter((model, gpssm.MeanField(states)), eqx.is_inexact_array)


PARTS = {
    "recognition": lambda t: t[1].recognition,
    "inducing": lambda t: (t[0].transition.inducing, t[0].transition.q_mean, t[0].transition.q_chol),
    "kernel": lambda t: t[0].transition.kernels,
    "noise": lambda t: (t[0].transition.noise, t[0].emission.noise),
    "emission": lambda t: (t[0].emission.weight, t[0].emission.offset),
}


def _steps(tree, rates: gpssm.Rates):
    """The first update for gradients of one: Adam moves each entry by its rate."""
    optimiser = gpssm.adam(100, rates, clip=1e9)
    gradients = jax.tree.map(jnp.ones_like, tree)
    updates, _ = jax.jit(optimiser.update)(gradients, optimiser.init(tree), tree)
    return updates


def test_the_parts_are_all_there_is(tree):
    counted = sum(len(jax.tree.leaves(part(tree))) for part in PARTS.values())
    assert counted == len(jax.tree.leaves(tree))


def test_each_group_moves_at_its_own_rate(tree):
    rates = gpssm.Rates(recognition=1e-1, inducing=2e-2, kernel=3e-3, noise=0.0, emission=5e-5)
    updates = _steps(tree, rates)
    for name, part in PARTS.items():
        for leaf in jax.tree.leaves(part(updates)):
            np.testing.assert_allclose(leaf, -getattr(rates, name), rtol=1e-6)


def test_one_rate_for_all():
    assert set(gpssm.Rates.all(0.07)) == {0.07}


def test_large_gradients_are_clipped(tree):
    """Adam forgets the scale of gradients, but clipping is seen where a later gradient is smaller than the first."""
    optimiser = gpssm.adam(100, gpssm.Rates.all(0.1), clip=1.0)
    huge, small = (jax.tree.map(lambda leaf, s=s: jnp.full_like(leaf, s), tree) for s in (1e8, 1.0))
    update = jax.jit(optimiser.update)
    _, state = update(huge, optimiser.init(tree), tree)
    updates, _ = update(small, state, tree)
    # Both gradients were clipped to the same norm, so that the second step is as long as the first.
    for leaf in jax.tree.leaves(updates):
        np.testing.assert_allclose(leaf, -0.1, rtol=1e-3)


def test_rates_decay_to_a_fraction(tree):
    optimiser = gpssm.adam(4, gpssm.Rates.all(0.1), final=0.2, clip=1e9)
    update = jax.jit(optimiser.update)
    gradients, state, sizes = jax.tree.map(jnp.ones_like, tree), optimiser.init(tree), []
    for _ in range(6):
        updates, state = update(gradients, state, tree)
        sizes.append(-float(jax.tree.leaves(updates)[0].ravel()[0]))
    expected = [0.1 * (0.2 + 0.8 * 0.5 * (1.0 + np.cos(np.pi * min(step, 4) / 4))) for step in range(6)]
    np.testing.assert_allclose(sizes, expected, rtol=1e-6)


def test_same_settings_same_optimiser():
    """A new object would make every fit compile its step again."""
    assert gpssm.adam(30, gpssm.Rates(noise=0.5)) is gpssm.adam(30, gpssm.Rates(noise=0.5))
    assert gpssm.adam(30) is not gpssm.adam(31)
