"""Training by stochastic gradients, as a loop that the caller may drive."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jaxtyping import Array, Key, PRNGKeyArray, PyTree, UInt32

from gpssm._core._compile import compile_for_setup
from gpssm._core._devices import Devices
from gpssm._core._distributed import peer_errors
from gpssm._core._history import Trace
from gpssm._core._linalg import base_jitter
from gpssm.fitting._batches import AbstractBatches, FullBatch
from gpssm.fitting._problem import Freeze, Problem, Tree
from gpssm.inference import AbstractInference
from gpssm.models._batch import Batch
from gpssm.models._gpssm import GPSSM
from gpssm.optimisers._step import TrainState, run_steps

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


def start(tree: Tree, data: Batch, optimiser: optax.GradientTransformation, freeze: Freeze | None):
    """The problem and the state before the first step."""
    problem = Problem.of(tree, data, freeze)
    trained, _ = problem.split(tree)
    return problem, TrainState(tree, _first_state(optimiser, trained), jnp.ones((), jnp.result_type(float)))


@compile_for_setup
def _first_state(optimiser: optax.GradientTransformation, trained: PyTree) -> PyTree:
    return optimiser.init(trained)


def drive(
    model: GPSSM,
    inference: AbstractInference,
    data: Batch,
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
        with jax.enable_x64(True), peer_errors():
            run = min(every, steps - step)
            keys = _keys(key, np.uint32(step), np.uint32(rollbacks), run)
            after, trace, finite = run_steps(problem, optimiser, batches, held, state, keys, devices, planned=steps)
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


@compile_for_setup
def _keys(
    key: PRNGKeyArray, step: UInt32[Array | np.uint32, ""], rollbacks: UInt32[Array | np.uint32, ""], run: int
) -> Key[Array, " S"]:
    """Of the steps of a run: others after it was undone."""
    return jr.split(jr.fold_in(jr.fold_in(key, step), rollbacks), run)


def check_batches(inference: AbstractInference, batches: AbstractBatches) -> None:
    """Refuse batches that the inference cannot use."""
    needs = inference.needs()
    if needs.full_batch and not batches.is_full():
        raise ValueError(
            f"{type(inference).__name__} needs full batches here: with minibatches use NaturalGradient() or Explicit() "
            "instead of a collapsed q(u)"
        )
    if needs.whole_episodes and not batches.keeps_episodes_whole():
        raise ValueError("states at each step belong to whole episodes: use a Network with windows")


def _jitter_event(step: int, trace: Trace, dtype: jnp.dtype) -> str | None:
    worst = float(np.max(np.asarray(trace.jitter)))
    if worst <= 1.5 * base_jitter(dtype):
        return None
    return f"step {step}: a kernel matrix needed the relative jitter {worst:.0e}"
