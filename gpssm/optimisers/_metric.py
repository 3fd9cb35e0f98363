"""L-BFGS in rounds, each in the metric of the states' posterior at its start."""

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._compile import compile_by_work
from gpssm._core._history import History
from gpssm._core._precision import double_precision
from gpssm._core._result import Result
from gpssm.fitting._problem import Training, Tree
from gpssm.fitting._progress import Progress, Status
from gpssm.fitting._stage import Stage
from gpssm.inference import MeanField, PerStepStates, WhitenedStates
from gpssm.models import Batch, GaussMarkov
from gpssm.optimisers._base import AbstractOptimiser, Trained
from gpssm.optimisers._lbfgs import LBFGS

FIRST, LONGEST = 5, 80
"""Iterations of the first round, and of the longest: each has twice those of the one before. At first q(X) is far from
where it ends, and so is its metric; later what L-BFGS has learnt of the other parameters is worth more."""
SHARE = 0.3
"""Times the root of the number of steps: the scale of coordinates of q(X) beside the other parameters. At one, their
curvatures would be level if all steps spoke of the same parameter with full weight; 0.1 to 0.3 are about equally fast
on a kink and on pendulums, 1 half as fast, 3 slower than no metric at all."""
SETTLED = 1e-4
"""Once a round has converged and gained less, in nats a step, a new metric will not help either."""


class MetricLBFGS(AbstractOptimiser):
    """L-BFGS on everything together, for states at each step: to the same bound in a fraction of the iterations.

    States are thousands of parameters that are tied to their neighbours, some a hundred times better known than others.
    In the coordinates of their own posterior (Fisher's information of the chain, block-tridiagonal in the means) the
    bound is nearly round in them, and what L-BFGS has to learn are the few others. The metric is taken anew in rounds
    of 5, 10, 20, 40, 80, 80, ... iterations. A round never ends lower than it began.
    """

    iterations: int = 150
    tolerance: float = 1e-7
    memory: int = 20

    def __check_init__(self) -> None:
        if self.iterations < 1:
            raise ValueError(f"iterations={self.iterations}: need at least one")

    def takes_steps_of_inference(self) -> bool:
        return False

    @double_precision
    def run(self, tree: Tree, training: Training, stage: Stage, *, key: PRNGKeyArray) -> Trained:
        """Rounds until the iterations are used up or nothing is gained. Each is a stage of its own."""
        before = stage.finished(tree)
        if before is not None:
            return Trained(*before)
        stage = replace(stage, shown="L-BFGS")
        now = Trained(tree, History(float(np.sum(np.asarray(training.data.valid)))), Result.finished)
        done, number, length = 0, 0, FIRST
        while done < self.iterations:
            number += 1
            allowed = min(length, self.iterations - done)
            within = replace(
                stage, name=f"{stage.name}-{number}", progress=_Counted(stage.progress, done, self.iterations)
            )
            # The same key: where the bound is an estimate, all rounds climb the same one.
            found = LBFGS(allowed, self.tolerance, self.memory).run(
                whitened(now.tree, training.data), training, within, key=key, planned=self.iterations
            )
            bound = found.history.bound
            if found.result is Result.diverged:
                now = replace(now, result=now.result if done else Result.diverged)
                break
            now = Trained(unwhitened(found.tree, training.data), _joined(now.history, found.history), found.result)
            done, length = done + len(bound), min(2 * length, LONGEST)
            ended = found.result is not Result.finished
            if found.result is Result.interrupted or (ended and (not len(bound) or bound[-1] - bound[0] < SETTLED)):
                break
        result = Result.finished if done >= self.iterations and now.result.good else now.result
        reached = f"to {now.history.final_bound:.4f} a step"
        now.history.events.append(f"{stage.shown}: {result.value}; {done} iterations in {number} rounds, {reached}")
        stage.end(now.tree, now.history, result)
        return replace(now, result=result)


def whitened(tree: Tree, data: Batch) -> Tree:
    """The same model and posterior, in coordinates about the present q(X)."""
    model, inference = tree
    if not isinstance(inference, MeanField) or not isinstance(inference.recognition, PerStepStates):
        raise TypeError("the metric is that of states at each step: use q_x=PerStep(), or LBFGS()")
    chains, covariances = _chains(inference, data)
    states = WhitenedStates.about_chains(
        chains,
        np.asarray(covariances),
        spread=SHARE * float(np.sum(np.asarray(data.valid))) ** 0.5,
        diagonal=inference.recognition.diagonal,
    )
    return model, eqx.tree_at(lambda i: i.recognition, inference, states)


def unwhitened(tree: Tree, data: Batch) -> Tree:
    """The same model and posterior, in plain coordinates."""
    model, inference = tree
    assert isinstance(inference, MeanField) and isinstance(inference.recognition, WhitenedStates)
    chains, _ = _chains(inference, data)
    states = PerStepStates.from_posterior(chains, diagonal=inference.recognition.diagonal)
    return model, eqx.tree_at(lambda i: i.recognition, inference, states)


@compile_by_work(lambda inference, data: data.valid.size)
def _chains(inference: MeanField, data: Batch) -> tuple[GaussMarkov, Float[Array, "B T D D"]]:
    chains = inference.posterior(data)
    return chains, jax.vmap(lambda chain: chain.covariances())(chains)


def _joined(before: History, after: History) -> History:
    """The rounds as one search: each round's own word about its end says nothing about the whole."""
    return before.then(replace(after, events=after.events[:-1]))


@dataclass(frozen=True)
class _Counted:
    """Shows a round as a part of the whole search."""

    progress: Progress
    done: int
    total: int

    def update(self, status: Status) -> None:
        self.progress.update(replace(status, step=self.done + status.step, total=self.total))

    def say(self, message: str) -> None:
        self.progress.say(message)
