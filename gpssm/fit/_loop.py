"""Training by stochastic gradients: a loop that the caller may drive, and `fit`, which drives it to the end."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jaxtyping import PRNGKeyArray, PyTree

from gpssm._devices import Devices
from gpssm._history import Trace
from gpssm._linalg import base_jitter
from gpssm._model import GPSSM
from gpssm._once import run_once
from gpssm._processes import watching_peers
from gpssm.data import Padded
from gpssm.fit._batches import AbstractBatches, FullBatch, Windows
from gpssm.fit._problem import Freeze, Problem, Tree
from gpssm.fit._step import TrainState, run_steps
from gpssm.inference import Collapsed, Variational
from gpssm.recognition import FreeStates

log = logging.getLogger("gpssm")

MAX_ROLLBACKS = 8


@dataclass(frozen=True)
class Snapshot:
    """Where training stands after a run of steps."""

    step: int
    state: TrainState
    trace: Trace | None
    """What the run reported; None if it was undone."""
    event: str | None = None
    rollbacks: int = 0
    """How often a run of steps has been undone so far."""

    @property
    def tree(self) -> Tree:
        """The model and the inference."""
        return self.state.tree


def start(tree: Tree, data: Padded, optimiser: optax.GradientTransformation, freeze: Freeze | None):
    """The problem and the state before the first step."""
    problem = Problem.of(tree, data, freeze)
    trained, _ = problem.split(tree)
    return problem, TrainState(tree, _first_state(optimiser, trained), jnp.ones((), jnp.result_type(float)))


@run_once
def _first_state(optimiser: optax.GradientTransformation, trained: PyTree) -> PyTree:
    return optimiser.init(trained)


def drive(
    model: GPSSM,
    inference: Variational,
    data: Padded,
    *,
    optimiser: optax.GradientTransformation,
    steps: int,
    batches: AbstractBatches | None = None,
    freeze: Freeze | None = None,
    every: int = 50,
    resume: Snapshot | None = None,
    devices: Devices | None = None,
    key: PRNGKeyArray,
) -> Iterator[Snapshot]:
    """Train, handing back control after every `every` steps. Stop by not asking for more.

    A run of steps that ends in NaN or infinity is undone and tried again with half the learning rate. `resume` goes on
    from a snapshot of the same training; as keys depend on the step alone, the bits are those of an unbroken one.
    `devices` share the episodes of each step among them.
    """
    batches = FullBatch() if batches is None else batches
    check_batches(inference, batches)
    with jax.enable_x64(True):
        problem, state = start((model, inference), data, optimiser, freeze)
        held = data if devices is None else devices.spread(data) if batches.is_full() else devices.copy(data)
    step, rollbacks = 0, 0
    if resume is not None:
        step, rollbacks, state = resume.step, resume.rollbacks, resume.state
    while step < steps and rollbacks <= MAX_ROLLBACKS:
        with jax.enable_x64(True), watching_peers():
            run = min(every, steps - step)
            keys = jr.split(jr.fold_in(jr.fold_in(key, step), rollbacks), run)
            after, trace, finite = run_steps(problem, optimiser, batches, held, state, keys, devices)
            event = None
            if bool(finite):
                state, step = after, step + run
                event = _jitter_event(step, trace, data.y.dtype)
            else:
                rollbacks += 1
                state = eqx.tree_at(lambda s: s.rate_scale, state, 0.5 * state.rate_scale)
                event = f"step {step}: the bound or a parameter became NaN; went back and halved the learning rate"
                trace = None
        if event is not None:
            log.warning(event)
        yield Snapshot(step, state, trace, event, rollbacks)


def check_batches(inference: Variational, batches: AbstractBatches) -> None:
    """Refuse batches that the inference cannot use."""
    if isinstance(inference.inducing, Collapsed) and not batches.is_full():
        raise ValueError("a collapsed q(u) needs full batches: use NaturalGradient() or Explicit() with minibatches")
    if isinstance(inference.recognition, FreeStates) and isinstance(batches, Windows):
        raise ValueError("free states belong to whole episodes: use a BiRNN with windows")


def _jitter_event(step: int, trace: Trace, dtype: jnp.dtype) -> str | None:
    worst = float(np.max(np.asarray(trace.jitter)))
    if worst <= 1.5 * base_jitter(dtype):
        return None
    return f"step {step}: a kernel matrix needed the relative jitter {worst:.0e}"
