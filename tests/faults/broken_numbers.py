"""NaN in the loss and in gradients. Each fault survives if training ends with finite parameters."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

import gpssm
from gpssm.fitting._batches import AbstractBatches
from tests.fit.small_task import EVERY, Task, free_states, padded, sparse_model

STEPS = 2 * EVERY


class PoisonedData(AbstractBatches):
    """All data, but with some probability a NaN or an infinity among the outputs."""

    probability: Float[Array, ""]
    poison: Float[Array, ""]

    def draw(self, data: gpssm.Batch, *, key: PRNGKeyArray) -> gpssm.Batch:
        bad = jr.uniform(key) < self.probability
        return eqx.tree_at(lambda d: d.y, data, jnp.where(bad, self.poison, data.y))

    def is_full(self) -> bool:
        return True


class _Plan:
    """When the gradients of the next training break down; read when its optimiser state is made."""

    at: int = 0
    for_steps: int = 1


def _init(params) -> Array:
    return jnp.asarray([0, _Plan.at, _Plan.at + _Plan.for_steps], jnp.int32)


def _update(updates, plan: Array, params=None):
    broken = (plan[0] >= plan[1]) & (plan[0] < plan[2])
    return jax.tree.map(lambda u: jnp.where(broken, jnp.nan, u), updates), plan.at[0].add(1)


_BREAKING = optax.GradientTransformation(_init, _update)
_OPTIMISER = optax.chain(_BREAKING, optax.adam(1e-2))


@cache
def _task() -> Task:
    data = padded((12, 9, 12), seed=0)
    return Task(sparse_model(), gpssm.MeanField(free_states(data), gpssm.Explicit(), gpssm.MonteCarlo(1)), data)


def _ends_well(done, clean: bool) -> bool:
    leaves = jax.tree.leaves(eqx.filter((done.model, done.inference), eqx.is_inexact_array))
    finite = all(bool(jnp.isfinite(leaf).all()) for leaf in leaves) and bool(np.isfinite(done.history.bound).all())
    noticed = any("halved the learning rate" in event for event in done.history.events)
    return finite and (clean or noticed or done.result is gpssm.Result.diverged)


def nan_in_the_loss(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """NaN or infinity in the data of random steps, from seldom to always."""
    task = _task()
    for i in range(count):
        probability = float(rng.choice([0.01, 0.05, 0.3, 1.0]))
        batches = PoisonedData(jnp.asarray(probability), jnp.asarray([np.nan, np.inf][i % 2]))
        done = gpssm.train(
            task.model,
            task.inference,
            task.data,
            optimiser=task.optimiser,
            steps=STEPS,
            batches=batches,
            key=jr.key(int(rng.integers(2**31))),
        )
        yield _ends_well(done, clean=probability < 0.1)


def nan_in_gradients(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """NaN in every gradient for some steps; the last good state is kept."""
    task = _task()
    for _ in range(count):
        _Plan.at, _Plan.for_steps = int(rng.integers(STEPS)), int(rng.integers(1, STEPS))
        done = gpssm.train(
            task.model,
            task.inference,
            task.data,
            optimiser=_OPTIMISER,
            steps=STEPS,
            key=jr.key(int(rng.integers(2**31))),
        )
        reached = EVERY * (_Plan.at // EVERY)
        yield _ends_well(done, clean=False) and len(done.history.bound) == reached
