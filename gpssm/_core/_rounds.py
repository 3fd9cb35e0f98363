"""The one host L-BFGS: SciPy's, with a wall where the objective is not finite, which can be gone on with.

SciPy's memory of past steps cannot be stored. What can be is every loss and gradient that it was given: told the same
once more, it asks for the same points, and goes on where it was broken off with the same bits. So that this record does
not grow without end, a long search is made in rounds, each of which starts without memory at the best point of the one
before.
"""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

ROUND = 150
"""Iterations of a round. Each new one starts without memory and costs a few hundredths of a nat a step where the search
is cut off before it converges; longer ones have a longer record to keep."""

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
    repeated: bool = False
    """Whether it was taken from the record of a search that was broken off."""


class Place(NamedTuple):
    """Where a search stands."""

    start: Float[np.ndarray, " K"]
    """Where its round began."""
    done: int
    """Iterations before this round."""
    record: Float[np.ndarray, "E L"]
    """Loss and gradient of each evaluation of this round, in order; L = 1 + K."""


class Objective:
    """The loss as a line search can bear it: where it is NaN there is a wall just high enough to make the step shorter.

    An enormous wall would make the line search shorten its step by as many orders of magnitude, gain nothing, and call
    that convergence.
    """

    def __init__(self, evaluate: Evaluate, record: Float[np.ndarray, "E L"] | None = None):
        self._evaluate = evaluate
        self._given = [] if record is None else list(record)
        """What is known of the round that is to be repeated."""
        self._made: list[np.ndarray] = []
        self._last: Evaluation | None = None
        self._origin: Evaluation | None = None
        """Where the present line search started."""
        self.first: float | None = None
        """The loss at the start."""
        self.best: Evaluation | None = None

    def __call__(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss and gradient, or the wall."""
        repeated = len(self._made) < len(self._given)
        if repeated:
            known = self._given[len(self._made)]
            loss, gradient, told = float(known[0]), known[1:].copy(), None
        else:
            loss, gradient, told = self._evaluate(flat)
        self._made.append(np.append(loss, gradient))
        if not (np.isfinite(loss) and np.isfinite(gradient).all()):
            return self._wall(flat), np.zeros_like(gradient)
        self._last = Evaluation(np.array(flat), loss, gradient, told, repeated)
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

    def begin_round(self, at: Float[np.ndarray, " K"], done: int) -> None:
        """SciPy starts anew, after that many iterations."""
        if self._made:
            self._given, self._made = [], []
        self._origin = None
        self._round = at, done

    @property
    def place(self) -> "Place":
        """All that is needed to come here again."""
        return Place(*self._round, np.stack(self._made))

    @property
    def gain(self) -> float:
        """How much the loss has fallen since the first evaluation."""
        return 0.0 if self.first is None or self.best is None else self.first - self.best.loss


def minimise(
    objective: Objective,
    start: Float[np.ndarray, " K"],
    *,
    iterations: int,
    done: int = 0,
    tolerance: float = 1e-7,
    gradient_tolerance: float = 1e-7,
    memory: int = 20,
    after_iteration: Callable[[Evaluation, int], None] = lambda evaluation, done: None,
) -> Ending:
    """Search until the relative gain of an iteration falls below `tolerance`; the best point is in the objective.

    `start` is where a round begins, after `done` iterations; an objective with a record of it repeats the round so far
    without evaluating anything. Exceptions of the callback and of the objective end the search and are passed on; what
    was best until then stays known.
    """
    # A tenth of a second, which those that do not search need not wait for.
    from scipy.optimize import OptimizeResult, minimize

    def accepted(intermediate_result: OptimizeResult) -> None:
        nonlocal done
        done += 1
        after_iteration(objective.accept(), done)

    at = np.asarray(start, dtype=float)
    while True:
        objective.begin_round(at, done)
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
