"""Each group of parameters has a learning rate of its own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm._core._params import Positive
from gpssm.fitting import Run
from gpssm.inference import MeanField
from gpssm.models import GPSSM, AbstractTransition, LinearGaussian, LinearMean, LinearTransition
from gpssm.models.transition import AbstractDynamics
from gpssm.optimisers import Adam, Rates
from gpssm.optimisers._rates import adam, unknown_parameters
from tests.optimisers.small_task import Listening, Task, free_states, padded, sparse_model


@pytest.fixture(scope="module")
def tree():
    model = sparse_model()
    model = eqx.tree_at(lambda m: m.emission, model, LinearGaussian.first_states(1, 1, learn=True))
    return eqx.filter((model, MeanField(free_states(padded((4, 4), seed=0, length=4)))), eqx.is_inexact_array)


PARTS = {
    "recognition": lambda t: t[1].recognition,
    "inducing": lambda t: (t[0].transition.inducing, t[0].transition.q_mean, t[0].transition.q_chol),
    "kernel": lambda t: t[0].transition.kernels,
    "noise": lambda t: (t[0].transition.noise, t[0].emission.noise),
    "emission": lambda t: (t[0].emission.weight, t[0].emission.offset),
}


def _steps(tree, rates: Rates):
    """The first update for gradients of one: Adam moves each entry by its rate."""
    optimiser = adam(100, rates, clip=1e9)
    gradients = jax.tree.map(jnp.ones_like, tree)
    updates, _ = jax.jit(optimiser.update)(gradients, optimiser.init(tree), tree)
    return updates


def test_the_parts_are_all_there_is(tree):
    counted = sum(len(jax.tree.leaves(part(tree))) for part in PARTS.values())
    assert counted == len(jax.tree.leaves(tree))


def test_each_group_moves_at_its_own_rate(tree):
    rates = Rates(recognition=1e-1, inducing=2e-2, kernel=3e-3, noise=0.0, emission=5e-5)
    updates = _steps(tree, rates)
    for name, part in PARTS.items():
        for leaf in jax.tree.leaves(part(updates)):
            np.testing.assert_allclose(leaf, -getattr(rates, name), rtol=1e-6)


def test_one_rate_for_all():
    assert set(Rates.all(0.07)) == {0.07}


def test_large_gradients_are_clipped(tree):
    """Adam forgets the scale of gradients, but clipping is seen where a later gradient is smaller than the first."""
    optimiser = adam(100, Rates.all(0.1), clip=1.0)
    huge, small = (jax.tree.map(lambda leaf, s=s: jnp.full_like(leaf, s), tree) for s in (1e8, 1.0))
    update = jax.jit(optimiser.update)
    _, state = update(huge, optimiser.init(tree), tree)
    updates, _ = update(small, state, tree)
    # Both gradients were clipped to the same norm, so that the second step is as long as the first.
    for leaf in jax.tree.leaves(updates):
        np.testing.assert_allclose(leaf, -0.1, rtol=1e-3)


def test_rates_decay_to_a_fraction(tree):
    optimiser = adam(4, Rates.all(0.1), final=0.2, clip=1e9)
    update = jax.jit(optimiser.update)
    gradients, state, sizes = jax.tree.map(jnp.ones_like, tree), optimiser.init(tree), []
    for _ in range(6):
        updates, state = update(gradients, state, tree)
        sizes.append(-float(jax.tree.leaves(updates)[0].ravel()[0]))
    expected = [0.1 * (0.2 + 0.8 * 0.5 * (1.0 + np.cos(np.pi * min(step, 4) / 4))) for step in range(6)]
    np.testing.assert_allclose(sizes, expected, rtol=1e-6)


def test_same_settings_same_optimiser():
    """A new object would make every fit compile its step again."""
    assert adam(30, Rates(noise=0.5)) is adam(30, Rates(noise=0.5))
    assert adam(30) is not adam(31)


class Softened(AbstractTransition):
    """The linear transition with a factor of a name that says nothing: next = gain (A x + B u + c) + noise."""

    mean: LinearMean
    noise: Positive
    gain: jax.Array

    def condition(self) -> AbstractDynamics:
        mean = jax.tree.map(lambda leaf: self.gain * leaf, self.mean)
        return LinearTransition(mean, self.noise).condition()

    def noise_variance(self) -> jax.Array:
        return self.noise.unwrap()


def test_parameters_that_no_group_knows_are_named_and_have_a_rate_of_their_own(task):
    one = jnp.ones((1, 1))
    transition = Softened(LinearMean(0.5 * one, 0.1 * one, one[0]), Positive.of(0.1 * one[0]), jnp.asarray(0.9))
    mine = Task(GPSSM(transition, task.model.emission, 1), task.inference, task.data)
    told = Listening()
    done = mine.train(Adam(1, rates=Rates(other=1e-3)), run=Run(progress=told), key=jr.key(0))
    after = done.model.transition
    # The first step of Adam moves each parameter by its rate.
    assert abs(float(after.gain) - 0.9) == pytest.approx(1e-3, rel=1e-3)
    assert abs(float(after.mean.offset[0]) - 1.0) == pytest.approx(1e-2, rel=1e-3)
    event = "Adam: [0].transition.gain belong to no known group and learn at the rate of Rates.other"
    assert event in done.history.events and event in told.messages


def test_known_parameters_are_not_mentioned(tree):
    assert unknown_parameters(tree) == []
