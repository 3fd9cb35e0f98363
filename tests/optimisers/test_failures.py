"""Training meets NaN: it goes back, slows down, says so, and never returns a NaN parameter."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from jaxtyping import Array, Float, PRNGKeyArray

import gpssm
from gpssm.inference import Collapsed, MeanField, MonteCarlo
from gpssm.models import Batch
from gpssm.optimisers import AbstractBatches, Training, _loop
from tests.optimisers.small_task import EVERY, Task, equal, finite, leaves


class Poisoned(AbstractBatches):
    """All data, but with some probability a NaN among the outputs, as if the bound had broken down."""

    probability: Float[Array, ""]

    def draw(self, data: Batch, *, key: PRNGKeyArray) -> Batch:
        bad = jr.uniform(key) < self.probability
        return eqx.tree_at(lambda d: d.y, data, jnp.where(bad, jnp.nan, data.y))

    def is_full(self) -> bool:
        return True

    def keeps_episodes_whole(self) -> bool:
        return True


def poisoned(task: Task, probability: float, *, steps: int):
    """An optimiser whose data are bad now and then."""
    return task.adam(steps, batches=Poisoned(jnp.asarray(probability)))


def test_a_broken_run_is_undone_and_training_goes_on(task):
    done = task.train(poisoned(task, 0.02, steps=4 * EVERY), key=jr.key(3))
    rollbacks = [event for event in done.history.events if "halved the learning rate" in event]
    assert 1 <= len(rollbacks) <= _loop.MAX_ROLLBACKS, "the test wants some failures, but not too many"
    assert done.result is gpssm.Result.finished
    assert len(done.history.bound) == 4 * EVERY, "undone steps leave no trace in the history"
    assert np.isfinite(done.history.bound).all()
    assert finite(done.tree)
    assert done.history.bound[-20:].mean() > done.history.bound[:20].mean()


def test_going_back_restores_everything_but_the_rate(task):
    training = Training(task.data)
    steps = poisoned(task, 0.02, steps=4 * EVERY).iterate(task.tree, training, key=jr.split(jr.key(3), 3)[0])
    snapshots = list(steps)
    undone = [i for i, snapshot in enumerate(snapshots) if snapshot.trace is None]
    assert undone
    for i in undone:
        before, after = snapshots[i - 1], snapshots[i]
        if i > 0:
            assert after.step == before.step
            assert equal(after.state.tree, before.state.tree)
            assert equal(after.state.optimiser_state, before.state.optimiser_state)
    assert float(snapshots[-1].state.rate_scale) == 0.5 ** len(undone)
    assert snapshots[-1].step == 4 * EVERY


def test_the_factor_on_the_rate_is_applied(task):
    batches, keys = Poisoned(jnp.asarray(0.0)), jr.split(jr.key(0), EVERY)
    problem, state = _loop.start(task.tree, task.data, task.transformation, None)

    def moved(factor: float) -> float:
        scaled = eqx.tree_at(lambda s: s.rate_scale, state, factor * state.rate_scale)
        after, _, finite = _loop.run_steps(problem, task.transformation, batches, task.data, scaled, keys)
        assert finite
        pairs = zip(leaves(after.tree), leaves(state.tree), strict=True)
        return float(np.sqrt(sum(np.sum((a - b) ** 2) for a, b in pairs)))

    assert moved(0.0) == 0.0
    assert moved(1e-6) == pytest.approx(1e-6 * moved(1e-3) / 1e-3, rel=0.05)


def test_permanent_failure_returns_the_start(task):
    done = task.train(poisoned(task, 1.0, steps=EVERY), key=jr.key(3))
    assert done.result is gpssm.Result.diverged
    assert not done.result.good
    assert len(done.history.bound) == 0
    assert sum("halved" in event for event in done.history.events) == _loop.MAX_ROLLBACKS + 1
    assert equal(done.tree, task.tree)


def _broken_after(steps: int) -> optax.GradientTransformation:
    """Updates become NaN from a given step on; going back does not help."""

    def update(updates, count, params=None):
        factor = jnp.where(count >= steps, jnp.nan, 1.0)
        return jax.tree.map(lambda u: factor * u, updates), count + 1

    return optax.GradientTransformation(lambda params: jnp.zeros((), jnp.int32), update)


def test_nan_updates_keep_the_last_good_state(task):
    broken = Task(task.model, task.inference, task.data, optax.chain(task.transformation, _broken_after(EVERY + 10)))
    done = broken.train(broken.adam(3 * EVERY), key=jr.key(0))
    good = task.train(task.adam(EVERY), key=jr.key(0))
    assert done.result is gpssm.Result.diverged
    assert len(done.history.bound) == EVERY
    for a, b in zip(leaves(done.tree), leaves(good.tree), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_a_collapsed_bound_that_is_nan_from_the_start_leaves_the_model_alone(task):
    """Storing the optimal q(u) at the end must not write NaN into a model that could not be trained."""
    data = eqx.tree_at(lambda d: d.u, task.data, jnp.full_like(task.data.u, jnp.nan))
    broken = Task(task.model, MeanField(task.inference.recognition, Collapsed(), MonteCarlo(1)), data)
    done = broken.train(broken.adam(EVERY), key=jr.key(0))
    assert done.result is gpssm.Result.diverged
    assert equal(done.model, task.model)
