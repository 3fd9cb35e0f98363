"""The one host L-BFGS: SciPy's, with a wall where the objective is not finite, in rounds that can be gone on from.

SciPy cannot be stopped and gone on with: its memory is lost. A long search is therefore made in rounds of fixed length,
each of which starts without memory at the best point of the one before. Whoever writes down that point after each round
can go on from it to the same bits.
"""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import OptimizeResult, minimize

ROUND = 150
"""Iterations of a round. Each new one starts without memory and costs a few hundredths of a nat a step where the search
is cut off before it converges; longer ones lose more work when a fit is killed."""

Evaluate = Callable[[Float[np.ndarray, " K"]], tuple[float, Float[np.ndarray, " K"], Any]]
"""Loss, gradient, and anything else that is worth telling about the point."""


class Ending(enum.Enum):
    """Why a search ended."""

    converged = enum.auto()
    exhausted = enum.auto()
    stuck = enum.auto()


class Evaluation(NamedTuple):
    """A point at which everything was finite."""

    at: Float[np.ndarray, " K"]
    loss: float
    gradient: Float[np.ndarray, " K"]
    told: Any


class Objective:
    """The loss as a line search can bear it: where it is NaN there is a wall just high enough to make the step shorter.

    An enormous wall would make the line search shorten its step by as many orders of magnitude, gain nothing, and call
    that convergence.
    """

    def __init__(self, evaluate: Evaluate):
        self._evaluate = evaluate
        self._last: Evaluation | None = None
        self._origin: Evaluation | None = None
        """Where the present line search started."""
        self.first: float | None = None
        """The loss at the start."""
        self.best: Evaluation | None = None

    def __call__(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss and gradient, or the wall."""
        loss, gradient, told = self._evaluate(flat)
        if not (np.isfinite(loss) and np.isfinite(gradient).all()):
            return self._wall(flat), np.zeros_like(gradient)
        self._last = Evaluation(np.array(flat), loss, gradient, told)
        self.first = loss if self.first is None else self.first
        self._origin = self._origin or self._last
        if self.best is None or loss < self.best.loss:
            self.best = self._last
        return loss, gradient

    def _wall(self, flat: np.ndarray) -> float:
        if self._origin is None:
            return np.inf
        # Half of what the slope promised: interpolation then takes about a sixth of the step.
        promised = abs(float(self._origin.gradient @ (flat - self._origin.at)))
        return self._origin.loss + 0.5 * promised + 1e-12

    def accept(self) -> Evaluation:
        """The line search has ended at the point evaluated last."""
        assert self._last is not None
        self._origin = self._last
        return self._last

    def begin_round(self) -> None:
        """A new search starts."""
        self._origin = None

    @property
    def gain(self) -> float:
        """How much the loss has fallen since the first evaluation."""
        return 0.0 if self.first is None or self.best is None else self.first - self.best.loss


def search(
    objective: Objective,
    start: Float[np.ndarray, " K"],
    *,
    iterations: int,
    done: int = 0,
    tolerance: float = 1e-7,
    gradient_tolerance: float = 1e-7,
    memory: int = 20,
    after_iteration: Callable[[Evaluation], None] = lambda evaluation: None,
    after_round: Callable[[Evaluation, int], None] = lambda evaluation, done: None,
) -> Ending:
    """Minimise until the relative gain of an iteration falls below `tolerance`; the best point is in the objective.

    `done` iterations were made before. Exceptions of the callbacks and of the objective end the search and are passed
    on; what was best until then stays known.
    """

    def accepted(intermediate_result: OptimizeResult) -> None:
        nonlocal done
        done += 1
        after_iteration(objective.accept())

    at = np.asarray(start, dtype=float)
    while True:
        objective.begin_round()
        before, length = done, min(ROUND, iterations - done)
        options = {
            "maxiter": length,
            "maxfun": 4 * length,
            "maxcor": memory,
            "ftol": tolerance,
            "gtol": gradient_tolerance,
        }
        outcome = minimize(objective, at, jac=True, method="L-BFGS-B", callback=accepted, options=options)
        if outcome.status == 0:
            return Ending.converged
        if outcome.status != 1 or done == before or objective.best is None:
            return Ending.stuck
        if done >= iterations:
            return Ending.exhausted
        at = objective.best.at
        after_round(objective.best, done)
