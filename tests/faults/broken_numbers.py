"""NaN in the loss, in gradients and in line searches. Each fault survives if training notices it and ends with finite
parameters."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

import gpssm
from gpssm.inference import Explicit, GaussHermite, MeanField
from gpssm.models import Batch
from gpssm.optimisers import LBFGS, AbstractBatches, Trained, _lbfgs, _loop
from tests.optimisers.small_task import EVERY, Task, finite, small_task

STEPS = 2 * EVERY
ITERATIONS = 12


class PoisonedData(AbstractBatches):
    """All data, but with some probability a NaN or an infinity among the outputs."""

    probability: Float[Array, ""]
    poison: Float[Array, ""]

    def draw(self, data: Batch, *, key: PRNGKeyArray) -> Batch:
        bad = jr.uniform(key) < self.probability
        return eqx.tree_at(lambda d: d.y, data, jnp.where(bad, self.poison, data.y))

    def is_full(self) -> bool:
        return True

    def keeps_episodes_whole(self) -> bool:
        return True


def _noticed(done: Trained) -> bool:
    return any("halved the learning rate" in event for event in done.history.events)


def _is_finite(done: Trained) -> bool:
    return finite(done.tree) and bool(np.isfinite(done.history.bound).all())


def nan_in_the_loss(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """NaN or infinity in the data of random steps, from seldom to always."""
    task = small_task()
    for i in range(count):
        probability = float(rng.choice([0.01, 0.05, 0.3, 1.0]))
        batches = PoisonedData(jnp.asarray(probability), jnp.asarray([np.nan, np.inf][i % 2]))
        done = task.train(task.adam(STEPS, batches=batches), key=jr.key(int(rng.integers(2**31))))
        # Seldom may be never.
        yield _is_finite(done) and (probability < 0.1 or _noticed(done))


class _Plan(eqx.Module):
    """When gradients break down. Kept in the state of the optimiser, which the compiled step is given anew each time:
    anything else would be compiled in, and hold for all later plans."""

    step: Array
    first: Array
    last: Array


def _break(updates, plan: _Plan, params=None):
    broken = (plan.step >= plan.first) & (plan.step < plan.last)
    return jax.tree.map(lambda u: jnp.where(broken, jnp.nan, u), updates), eqx.tree_at(
        lambda p: p.step, plan, plan.step + 1
    )


def _no_plan(params) -> _Plan:
    return _Plan(*(jnp.full((), value, jnp.int32) for value in (0, -1, -1)))


_BREAKING = optax.chain(optax.GradientTransformation(_no_plan, _break), optax.adam(1e-2))


@contextmanager
def _gradients_break(first: int, last: int) -> Iterator[None]:
    """Training that begins within has NaN gradients in these steps."""
    begin = _loop.start

    def start(*args):
        problem, state = begin(*args)
        plan = _Plan(*(jnp.full((), value, jnp.int32) for value in (0, first, last)))
        return problem, eqx.tree_at(lambda s: s.optimiser_state[0], state, plan)

    with mock.patch.object(_loop, "start", start):
        yield


def nan_in_gradients(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """NaN in every gradient for some steps; going back does not help, and the last good state is kept."""
    task = small_task()
    task = Task(task.model, task.inference, task.data, _BREAKING)
    for _ in range(count):
        first = int(rng.integers(STEPS))
        with _gradients_break(first, first + int(rng.integers(1, STEPS))):
            done = task.train(task.adam(STEPS), key=jr.key(int(rng.integers(2**31))))
        # A plan that was not carried out would let all steps be made.
        as_planned = done.result is gpssm.Result.diverged and len(done.history.bound) == EVERY * (first // EVERY)
        yield as_planned and _noticed(done) and _is_finite(done)


@contextmanager
def _evaluations_break(which: set[int]) -> Iterator[list[int]]:
    """L-BFGS meets NaN at these evaluations; tells which were met."""
    evaluate, met, made = _lbfgs._value_and_grad, [], 0

    def broken(*args):
        nonlocal made
        loss, gradient, trace = evaluate(*args)
        made += 1
        if made - 1 in which:
            met.append(made - 1)
            loss = jnp.full_like(loss, jnp.nan)
        return loss, gradient, trace

    with mock.patch.object(_lbfgs, "_value_and_grad", broken):
        yield met


def nan_in_line_searches(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """NaN at random evaluations of L-BFGS: it makes shorter steps, and what it returns is no worse than its start."""
    task = small_task()
    task = Task(task.model, MeanField(task.inference.recognition, Explicit(), GaussHermite(3)), task.data)
    for _ in range(count):
        which = {int(i) for i in rng.choice(np.arange(1, ITERATIONS), size=int(rng.integers(1, 5)), replace=False)}
        with _evaluations_break({min(which), *which}) as met:
            done = task.train(LBFGS(ITERATIONS), key=jr.key(0))
        rose = bool(np.all(np.diff(done.history.bound) > -1e-9))
        yield bool(met) and rose and done.result.good and _is_finite(done)
