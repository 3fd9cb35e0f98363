"""Regularised nonlinear least squares by Levenberg and Marquardt."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

LARGEST = 1e8
"""Damping at which the search gives up."""


@dataclass(frozen=True)
class Optimum:
    """Where the search ended, with what is known about the surroundings."""

    at: Float[np.ndarray, " R"]
    cost: float
    curvature: Float[np.ndarray, "R R"]
    """Of the data alone: J'J in units of the noise."""
    damping: float


Linearise = Callable[[Float[np.ndarray, " R"]], tuple[Float[np.ndarray, " N"], Float[np.ndarray, "N R"]]]
Residuals = Callable[[Float[np.ndarray, " R"]], Float[np.ndarray, " N"]]


def minimise(
    start: Float[np.ndarray, " R"],
    *,
    linearise: Linearise,
    residuals: Residuals,
    centre: Float[np.ndarray, " R"],
    precision: Float[np.ndarray, " R"],
    iterations: int,
    damping: float = 1.0,
    stop: Callable[[], bool] = lambda: False,
) -> Optimum:
    """Minimise |r(p)|^2 + sum of precision (p - centre)^2, r being in units of the noise.

    The damping is in units of the prior's precision, which knows the scale of every parameter. A step to where the
    residuals are not finite is refused like any other that does not help. `stop` is asked before each step.
    """

    def cost_of(found: np.ndarray, at: np.ndarray) -> float:
        return float(found @ found + precision @ (at - centre) ** 2)

    at = start
    found, slopes = linearise(at)
    cost, curvature = cost_of(found, at), slopes.T @ slopes
    for _ in range(iterations):
        if stop():
            break
        downhill = -(slopes.T @ found + precision * (at - centre))
        trial = at + np.linalg.solve(curvature + np.diag((1.0 + damping) * precision), downhill)
        with np.errstate(all="ignore"):
            trial_cost = cost_of(residuals(trial), trial)
        if np.isfinite(trial_cost) and trial_cost < cost:
            gained, at = cost - trial_cost, trial
            found, slopes = linearise(at)
            cost, curvature = trial_cost, slopes.T @ slopes
            damping = max(damping / 5.0, 1e-6)
            if gained < 1e-3:
                break
        else:
            damping *= 5.0
            if damping > LARGEST:
                break
    return Optimum(at, cost, curvature, damping)
