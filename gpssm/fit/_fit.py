"""`fit`: train a model on episodes."""

import time
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import DTypeLike, PRNGKeyArray

from gpssm._devices import Devices
from gpssm._history import History
from gpssm._model import GPSSM
from gpssm._params import cast
from gpssm._precision import double_precision
from gpssm._processes import PeerLostError, require_same
from gpssm._result import FitError, Result
from gpssm.data import Padded
from gpssm.files._identity import digest_tree
from gpssm.fit._batches import AbstractBatches
from gpssm.fit._loop import MAX_ROLLBACKS, Snapshot, drive, start
from gpssm.fit._optimiser import adam
from gpssm.fit._plateau import Plateau
from gpssm.fit._problem import Freeze, finish
from gpssm.fit._progress import Progress, Silent, Status
from gpssm.fit._recorder import Recorder
from gpssm.inference import Explicit, Variational
from gpssm.recognition import FreeStates


@dataclass(frozen=True)
class Trained:
    """A trained model in standardised units, its inference, how training went and how it ended."""

    model: GPSSM
    inference: Variational
    history: History
    result: Result


@double_precision
def train(
    model: GPSSM,
    inference: Variational,
    data: Padded,
    *,
    optimiser: optax.GradientTransformation | None = None,
    steps: int = 2000,
    batches: AbstractBatches | None = None,
    freeze: Freeze | None = None,
    stop: Plateau | None = None,
    held_out: Padded | None = None,
    watch_every: int = 200,
    progress: Progress | None = None,
    stage: str = "Adam",
    throw: bool = False,
    recorder: Recorder | None = None,
    devices: Devices | None = None,
    key: PRNGKeyArray,
) -> Trained:
    """Maximise the bound by Adam (or any optax optimiser) on padded, standardised episodes.

    Ctrl-C ends training with the last good state. NaN parameters are never returned. A `recorder` writes checkpoints,
    from which the same call goes on. `devices` share the episodes among them.
    """
    progress = Silent() if progress is None or (devices is not None and not devices.is_first) else progress
    optimiser = adam(steps) if optimiser is None else optimiser
    if held_out is not None and isinstance(inference.recognition, FreeStates):
        raise ValueError("free states know the training episodes only: use a BiRNN to watch held-out ones")
    if devices is not None and devices.num_processes > 1:
        require_same(digest_tree((steps, model, inference, data, jr.key_data(key))))
    before = None if recorder is None else recorder.finished((model, inference))
    if before is not None:
        return _ended(Trained(*before[0], *before[1:]), throw)
    loop_key, finish_key, watch_key = jr.split(key, 3)
    history = History(float(jnp.sum(data.valid)))
    tree, result, last = (model, inference), Result.finished, None
    if recorder is not None:
        last, history = recorder.resume(start(tree, data, optimiser, freeze)[1]) or (None, history)
    if last is not None:
        tree = last.tree
        history.events.append(f"{stage}: went on from the checkpoint at step {last.step}")
        progress.say(history.events[-1])
    began = time.monotonic() - history.seconds
    score = history.held_out[-1][1] if history.held_out else None
    snapshots = drive(
        model,
        inference,
        data,
        optimiser=optimiser,
        steps=steps,
        batches=batches,
        freeze=freeze,
        resume=last,
        devices=devices,
        key=loop_key,
    )
    try:
        for snapshot in snapshots:
            tree = snapshot.tree
            if snapshot.event is not None:
                history.events.append(snapshot.event)
                progress.say(snapshot.event)
            if snapshot.trace is None:
                last = snapshot
                continue
            history.append(snapshot.trace)
            if held_out is not None and (snapshot.step % watch_every == 0 or snapshot.step == steps):
                score = held_out_bound(*finish(tree, data, key=finish_key)[0], held_out, key=watch_key)
                history.held_out.append((snapshot.step, score))
            progress.update(_report(stage, snapshot, history, steps, began, score))
            if stop is not None and stop.reached(history.bound):
                result = Result.plateau
                break
            last = snapshot
            if recorder is not None and snapshot.step < steps:
                history.seconds = time.monotonic() - began
                recorder.keep(snapshot, history, progress)
        if last is not None and last.rollbacks > MAX_ROLLBACKS:
            result = Result.diverged
    except KeyboardInterrupt:
        result = Result.interrupted
        if recorder is not None and last is not None:
            history.seconds = time.monotonic() - began
            recorder.write(last, history, progress)
    except PeerLostError:
        if recorder is not None and last is not None:
            history.seconds = time.monotonic() - began
            recorder.write(last, history, progress)
        raise
    tree, finished = finish(tree, data, key=finish_key)
    result = result if finished else Result.diverged
    history.events.append(f"{stage}: {result.value}")
    history.seconds = time.monotonic() - began
    if recorder is not None:
        recorder.end(tree, history, result, progress)
    return _ended(Trained(*tree, history, result), throw)


def _ended(trained: Trained, throw: bool) -> Trained:
    if throw and not trained.result.good:
        raise FitError(trained.result.value)
    return trained


def held_out_bound(model: GPSSM, inference: Variational, held_out: Padded, *, key: PRNGKeyArray) -> float:
    """Bound per time step on episodes that were not trained on, without the KL of q(u), which training has paid."""
    watching = eqx.tree_at(lambda i: i.inducing, inference, Explicit())
    return float(_held_out_bound(model, watching, held_out, key))


@eqx.filter_jit
def _held_out_bound(model: GPSSM, inference: Variational, data: Padded, key: PRNGKeyArray):
    bound, _ = inference.bound(model, data, key=key)
    return (bound.total() - bound.inducing) / jnp.sum(data.valid)


def _report(stage: str, snapshot: Snapshot, history: History, steps: int, began: float, score: float | None) -> Status:
    assert snapshot.trace is not None
    recent = history.bound[-50:]
    return Status(
        stage=stage,
        step=snapshot.step,
        total=steps,
        bound=float(recent.mean()),
        process_noise=jax.device_get(snapshot.trace.process_noise)[-1],
        measurement_noise=jax.device_get(snapshot.trace.measurement_noise)[-1],
        steps_per_second=snapshot.step / (time.monotonic() - began),
        held_out=score,
    )


def prepare(model: GPSSM, inference: Variational, dtype: DTypeLike) -> tuple[GPSSM, Variational]:
    """One precision and strong types throughout, so that a second call does not compile again."""
    return cast((model, inference), dtype)
