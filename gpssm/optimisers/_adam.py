"""Adam, or any optimiser of optax, with checkpoints, roll-back and held-out episodes to watch."""

import time

import jax
import jax.random as jr
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from gpssm._core._distributed import PeerLostError, require_same
from gpssm._core._history import History
from gpssm._core._precision import double_precision
from gpssm._core._random import split
from gpssm._core._result import Result
from gpssm.fitting._batches import AbstractBatches, FullBatch
from gpssm.fitting._identity import digest_tree
from gpssm.fitting._interrupt import Stopped
from gpssm.fitting._plateau import Plateau
from gpssm.fitting._problem import Problem, Training, Tree, finish
from gpssm.fitting._progress import Status
from gpssm.fitting._stage import Stage
from gpssm.optimisers._base import AbstractOptimiser, Trained
from gpssm.optimisers._loop import MAX_ROLLBACKS, Snapshot, drive, start
from gpssm.optimisers._rates import Rates, adam, unknown_parameters
from gpssm.optimisers._watch import Watch

AVERAGED = 50
"""Last steps over which the bound is averaged."""


class Adam(AbstractOptimiser):
    """Steps of Adam with cosine decay, a rate for each group of parameters, and clipped gradients.

    A run of steps that ends in NaN is undone and tried again with half the rate; NaN parameters are never returned.
    Held-out episodes are looked at every 200 steps; should their bound end clearly below its best, the model of that
    step is returned.
    """

    steps: int = 2000
    rates: Rates = Rates()
    final: float = 0.05
    """Share of the rates that is left at the end."""
    clip: float = 10.0
    """Largest norm of a gradient of the bound per time step."""
    batches: AbstractBatches = FullBatch()
    stop: Plateau | None = None
    """When to stop early."""
    transformation: optax.GradientTransformation | None = None
    """An optimiser of your own, instead of Adam with these rates. It is made of functions, which cannot be compared: to
    go on from checkpoints, give the same one."""

    def __check_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps={self.steps}: need at least one")

    def takes_steps_of_inference(self) -> bool:
        return True

    @double_precision
    def run(self, tree: Tree, training: Training, stage: Stage, *, key: PRNGKeyArray) -> Trained:
        """Make all steps."""
        data, held_out, devices = training.data, training.held_out, stage.devices
        optimiser = self._optimiser()
        if held_out is not None and tree[1].for_new_records() is None:
            raise ValueError("states at each step are known for training episodes only: use a Network to watch others")
        if devices is not None and devices.num_processes > 1:
            require_same(digest_tree((self.steps, tree, data, jr.key_data(key))))
        before = stage.finished(tree)
        if before is not None:
            return Trained(*before)
        loop_key, finish_key, watch_key = split(key, 3)
        history = History(float(np.sum(np.asarray(data.valid))), averaged=AVERAGED)
        result, last = Result.finished, None
        watch, resumed = Watch(held_out, tree), None
        if stage.store is not None:
            resumed = stage.resume(watch.stored(start(tree, data, optimiser, training.freeze)[1]))
        if resumed is not None:
            history = resumed.history
            last = Snapshot(resumed.step, watch.restored(resumed.state), None, None, resumed.rollbacks)
            tree = last.tree
        elif self.transformation is None:
            _warn_of_unknown(tree, training, history, stage)
        began = time.monotonic() - history.seconds
        snapshots = self.iterate(tree, training, stage, resume=last, key=loop_key)

        def write() -> None:
            if last is not None:
                history.seconds = time.monotonic() - began
                stage.write(watch.stored(last.state), last.step, history, rollbacks=last.rollbacks)

        try:
            for snapshot in snapshots:
                tree = snapshot.tree
                if snapshot.event is not None:
                    history.events.append(snapshot.event)
                    stage.say(snapshot.event)
                if snapshot.trace is None:
                    last = snapshot
                    continue
                history.append(snapshot.trace)
                watch.look(tree, data, snapshot.step, self.steps, history, (finish_key, watch_key))
                score = history.held_out[-1][1] if history.held_out else None
                stage.update(_status(stage.shown, snapshot, history, self.steps, began, score))
                if self.stop is not None and self.stop.reached(history.bound):
                    result = Result.plateau
                    break
                last = snapshot
                if snapshot.step < self.steps:
                    history.seconds = time.monotonic() - began
                    stage.keep(watch.stored(snapshot.state), snapshot.step, history, rollbacks=snapshot.rollbacks)
                    stage.check()
            if last is not None and last.rollbacks > MAX_ROLLBACKS:
                result = Result.diverged
        except Stopped as stopped:
            result = Result.interrupted
            write()
            stage.interruption.heard(stopped)
        except PeerLostError:
            write()
            raise
        tree, back = watch.kept(tree, history)
        if back is not None:
            history.events.append(f"{stage.shown}: {back}")
            stage.say(history.events[-1])
        tree, finished = finish(tree, data, key=finish_key)
        result = result if finished else Result.diverged
        history.events.append(f"{stage.shown}: {result.value}")
        history.seconds = time.monotonic() - began
        stage.end(tree, history, result)
        return Trained(tree, history, result)

    def iterate(
        self,
        tree: Tree,
        training: Training,
        stage: Stage | None = None,
        *,
        resume: Snapshot | None = None,
        key: PRNGKeyArray,
    ):
        """The steps by hand: a generator that hands back control after every 50 of them. Stop by not asking for
        more."""
        return drive(
            *tree,
            training.data,
            optimiser=self._optimiser(),
            steps=self.steps,
            batches=self.batches,
            freeze=training.freeze,
            resume=resume,
            devices=None if stage is None else stage.devices,
            key=key,
        )

    def _optimiser(self) -> optax.GradientTransformation:
        if self.transformation is not None:
            return self.transformation
        return adam(self.steps, self.rates, final=self.final, clip=self.clip)


def _warn_of_unknown(tree: Tree, training: Training, history: History, stage: Stage) -> None:
    unknown = unknown_parameters(Problem.of(tree, training.data, training.freeze).split(tree)[0])
    if unknown:
        event = f"{stage.shown}: {', '.join(unknown)} belong to no known group and learn at the rate of Rates.other"
        history.events.append(event)
        stage.say(event)


def _status(stage: str, snapshot: Snapshot, history: History, steps: int, began: float, score: float | None) -> Status:
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
