"""Smooth the states, fit the transition, smooth again; then everything together."""

import time
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._history import History
from gpssm._core._precision import double_precision
from gpssm._core._random import fold_in, split
from gpssm._core._result import Result
from gpssm.fitting._problem import Training, Tree, prepare
from gpssm.fitting._progress import Silent, Status
from gpssm.fitting._stage import Stage
from gpssm.inference import GaussHermite, MeanField, PerStepStates, linearised_posterior
from gpssm.models import GPSSM, GaussMarkov, LinearGaussian
from gpssm.optimisers._base import AbstractOptimiser, Trained
from gpssm.optimisers._first_noise import with_shared_noise
from gpssm.optimisers._lbfgs import LBFGS

START_ITERATIONS = 30
CYCLE_ITERATIONS = 8
"""Of L-BFGS on the model, while the states are held: enough for the states to be worth another look."""


class Alternating(AbstractOptimiser):
    """For small and well-measured data with states at each step: the same optimum as L-BFGS alone, by a shorter way.

    Gradients find it hard to move thousands of states whose noises are small. Here the states are smoothed in closed
    form about the present model, a step of Gauss and Newton, and the model is fitted to them, in turn. At the end,
    `then` is run on everything. Needs a linear emission.
    """

    cycles: int = 20
    then: LBFGS | None = LBFGS(50)

    def takes_steps_of_inference(self) -> bool:
        return False

    @double_precision
    def run(self, tree: Tree, training: Training, stage: Stage, *, key: PRNGKeyArray) -> Trained:
        """Cycles, then L-BFGS. The stage is recorded at its end, and its last part between rounds."""
        model, inference = tree
        if not isinstance(model.emission, LinearGaussian):
            raise TypeError(
                f"smoothing needs a LinearGaussian emission, not {type(model.emission).__name__}: use LBFGS()"
            )
        if not isinstance(inference, MeanField) or not isinstance(inference.recognition, PerStepStates):
            raise TypeError("smoothing and fitting in turn needs states at each step: use q_x=PerStep()")
        cycles_stage = replace(stage, name=f"{stage.name}-cycles")
        ended = cycles_stage.finished(tree)
        start_key, cycle_key, end_key = split(key, 3)
        if ended is not None:
            now = Trained(*ended)
        else:
            first = _first_fit(model, inference, training, stage, start_key)
            now = _cycles(first, inference, training, self.cycles, stage, cycle_key)
            cycles_stage.end(now.tree, now.history, now.result)
        if self.then is None or now.result is Result.interrupted:
            return now
        end = self.then.run(now.tree, training, stage, key=end_key)
        return replace(end, history=now.history.then(end.history))


def _within(stage: Stage) -> Stage:
    """A short search inside a cycle: neither shown nor recorded, but it hears Ctrl-C."""
    return replace(stage, store=None, progress=Silent())


def _first_fit(model: GPSSM, inference: MeanField, training: Training, stage: Stage, key: PRNGKeyArray) -> Trained:
    """The transition that the first states show, and what it leaves unexplained shared between the noises."""
    assert isinstance(inference.recognition, PerStepStates)
    means = inference.recognition.means
    eye = jnp.broadcast_to(jnp.eye(model.state_dim), (*means.shape, model.state_dim))
    states = PerStepStates.from_posterior(GaussMarkov(means, 0.0 * eye, 1e-3 * eye))
    # One node is the mean.
    held = MeanField(states, inference.inducing, GaussHermite(1))
    started = LBFGS(START_ITERATIONS).run(
        prepare((model, held), np.float64),
        replace(training, freeze=lambda model, inference: (model.emission, inference.recognition)),
        _within(stage),
        key=key,
    )
    history = replace(started.history, bound=started.history.bound[:0], events=[])
    shared = with_shared_noise(started.model, training.data.y.shape[-1])
    return Trained((shared, started.inference), history, started.result)


def _cycles(
    now: Trained, inference: MeanField, training: Training, cycles: int, stage: Stage, key: PRNGKeyArray
) -> Trained:
    """Smooth and fit in turn. A cycle that fails ends them; the model of the highest bound is kept."""
    data = training.data
    began, best, history = time.monotonic(), None, History(float(np.sum(np.asarray(data.valid))))
    for cycle in range(cycles):
        if now.result is Result.interrupted or stage.interruption.requested:
            return replace(now if best is None else best[1], history=history, result=Result.interrupted)
        states = now.tree[1]
        assert isinstance(states, MeanField) and isinstance(states.recognition, PerStepStates)
        try:
            smoothed = linearised_posterior(now.model, data, np.asarray(states.recognition.means))
        except np.linalg.LinAlgError:
            history.events.append(f"cycle {cycle + 1}: the states could not be smoothed; went on without more cycles")
            break
        held = MeanField(PerStepStates.from_posterior(smoothed), inference.inducing, inference.expectation)
        now = LBFGS(CYCLE_ITERATIONS).run(
            prepare((now.model, held), np.float64),
            replace(training, freeze=lambda model, inference: inference.recognition),
            _within(stage),
            key=fold_in(key, cycle),
        )
        history = history.then(replace(now.history, events=[]))
        if not len(now.history.bound):
            break
        if best is None or now.history.bound[-1] > best[0]:
            best = (now.history.bound[-1], now)
        stage.update(
            Status(
                stage="cycle",
                step=cycle + 1,
                total=cycles,
                bound=float(now.history.bound[-1]),
                process_noise=np.asarray(now.model.transition.noise_variance()),
                measurement_noise=np.asarray(now.model.emission.noise_variance()),
                steps_per_second=(cycle + 1) / (time.monotonic() - began),
            )
        )
    kept = now if best is None else best[1]
    history.events.append(f"{cycles} cycles of smoothing and fitting" + (f" to {best[0]:.4f} a step" if best else ""))
    return replace(kept, history=history)
