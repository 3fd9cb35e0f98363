"""Several trainings at once: the same compiled steps for a stack of starts."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jaxtyping import Array, Bool, PRNGKeyArray, PyTree

from gpssm._history import History, Trace
from gpssm._precision import double_precision
from gpssm._result import Result
from gpssm._share import Whole
from gpssm.data import Padded
from gpssm.fit._batches import AbstractBatches, FullBatch
from gpssm.fit._fit import Trained
from gpssm.fit._loop import MAX_ROLLBACKS, check_batches, start
from gpssm.fit._optimiser import adam
from gpssm.fit._problem import Freeze, Problem, Tree, finish
from gpssm.fit._progress import Progress, Silent, Status
from gpssm.fit._step import TrainState, take_steps


@dataclass
class _Course:
    """How far one of the trainings has come."""

    key: PRNGKeyArray
    history: History
    step: int = 0
    rollbacks: int = 0
    events: list[str] = field(default_factory=list)

    @property
    def diverged(self) -> bool:
        return self.rollbacks > MAX_ROLLBACKS

    def due(self, steps: int, every: int) -> int:
        """How many steps come next; none if it has ended."""
        return 0 if self.diverged else min(every, steps - self.step)


@double_precision
def train_many(
    starts: Sequence[Tree],
    data: Padded,
    *,
    optimiser: optax.GradientTransformation | None = None,
    steps: int = 2000,
    every: int = 50,
    batches: AbstractBatches | None = None,
    freeze: Freeze | None = None,
    progress: Progress | None = None,
    keys: Sequence[PRNGKeyArray],
) -> list[Trained]:
    """Train several starts of one shape together; each ends as `train` with its key would end it, but for rounding.

    A run of steps in which one of them becomes NaN is undone for that one alone; it repeats the run with half the
    learning rate while the others go on.
    """
    progress = Silent() if progress is None else progress
    optimiser = adam(steps) if optimiser is None else optimiser
    batches = FullBatch() if batches is None else batches
    check_batches(starts[0][1], batches)
    begun = [start(tree, data, optimiser, freeze) for tree in starts]
    problem, state = begun[0][0], _stack([state for _, state in begun])
    parts = [jr.split(key, 3) for key in keys]  # as `train` does
    courses = [_Course(part[0], History(float(jnp.sum(data.valid)))) for part in parts]
    began, stopped = time.monotonic(), False
    try:
        while run := max(course.due(steps, every) for course in courses):
            # A training that lags behind waits for the others where its run of steps has another length than theirs.
            active = [course.due(steps, every) == run for course in courses]
            turn = jnp.stack([jr.split(jr.fold_in(jr.fold_in(c.key, c.step), c.rollbacks), run) for c in courses])
            state, trace, finite = run_many(problem, optimiser, batches, data, state, turn, jnp.asarray(active))
            _note(courses, active, np.asarray(finite), jax.device_get(trace), run)
            progress.update(_status(courses, steps, trace, time.monotonic() - began))
    except KeyboardInterrupt:
        stopped = True
    made = []
    for i, course in enumerate(courses):
        tree, good = finish(_pick(state, i).tree, data, key=parts[i][1])
        ended = Result.interrupted if stopped else Result.finished
        result = Result.diverged if course.diverged or not good else ended
        course.history.seconds = time.monotonic() - began
        course.history.events += [*course.events, f"restart {i}: {result.value}"]
        made.append(Trained(*tree, course.history, result))
    return made


@eqx.filter_jit
def run_many(
    problem: Problem,
    optimiser: optax.GradientTransformation,
    batches: AbstractBatches,
    data: Padded,
    states: TrainState,
    keys: Array,
    active: Bool[Array, " R"],
) -> tuple[TrainState, Trace, Bool[Array, " R"]]:
    """A run of steps for every start of a stack. Those that are not active, or became NaN, keep their state; the
    latter with half the learning rate."""
    arrays, static = eqx.partition(states, eqx.is_array)

    def one(arrays: PyTree, keys: Array, active: Bool[Array, ""]) -> tuple[PyTree, Trace, Bool[Array, ""]]:
        before = eqx.combine(arrays, static)
        after, trace, finite = take_steps(problem, optimiser, batches, data, before, keys, Whole())
        slower = eqx.tree_at(lambda s: s.rate_scale, before, 0.5 * before.rate_scale)
        kept = _choose(finite, after, slower)
        return eqx.filter(_choose(active, kept, before), eqx.is_array), trace, finite

    arrays, trace, finite = jax.vmap(one)(arrays, keys, active)
    return eqx.combine(arrays, static), trace, finite


def _choose(which: Bool[Array, ""], this: TrainState, that: TrainState) -> TrainState:
    return jax.tree.map(lambda a, b: jnp.where(which, a, b) if eqx.is_array(a) else a, this, that)


def _stack(states: list[TrainState]) -> TrainState:
    """States of one structure, shape for shape, on a new leading axis."""
    arrays, static = zip(*(eqx.partition(state, eqx.is_array) for state in states), strict=True)
    shapes = [jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), tree) for tree in arrays]
    for i, (other, shape) in enumerate(zip(static, shapes, strict=True)):
        if not eqx.tree_equal(static[0], other) or shape != shapes[0]:
            raise ValueError(
                f"start {i} differs from start 0 in more than numbers; starts that are trained together have the same "
                "states, kernel, inducing points and network. Train others apart, as gpssm.sweep does"
            )
    return eqx.combine(jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays), static[0])


def _pick(states: TrainState, i: int) -> TrainState:
    return jax.tree.map(lambda leaf: leaf[i] if eqx.is_array(leaf) else leaf, states)


def _note(courses: list[_Course], active: list[bool], finite: np.ndarray, trace: Trace, run: int) -> None:
    """Write down what a run of steps has brought to each."""
    for i, course in enumerate(courses):
        if not active[i]:
            continue
        if finite[i]:
            course.step += run
            course.history.append(jax.tree.map(lambda leaf, i=i: leaf[i], trace))
        else:
            course.rollbacks += 1
            course.events.append(
                f"step {course.step}: the bound or a parameter became NaN; went back and halved the learning rate"
            )


def _status(courses: list[_Course], steps: int, trace: Trace, seconds: float) -> Status:
    """The best of them, for people to watch."""
    ends = [float(c.history.bound[-50:].mean()) if len(c.history.bound) else -np.inf for c in courses]
    best, done = int(np.argmax(ends)), min(course.step for course in courses)
    return Status(
        stage=f"best of {len(courses)}",
        step=done,
        total=steps,
        bound=ends[best],
        process_noise=np.asarray(trace.process_noise)[best, -1],
        measurement_noise=np.asarray(trace.measurement_noise)[best, -1],
        steps_per_second=done / seconds,
    )
