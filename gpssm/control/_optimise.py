"""Policy search: minimise the expected cost with L-BFGS."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float
from scipy.optimize import minimize

from gpssm.control._gp import ConditionedGP
from gpssm.control._plan import loss_and_gradient
from gpssm.control._policy import RBFPolicy
from gpssm.control._task import Task

# Larger than any expected cost per step, so that a line search turns back from a prediction that overflowed.
_OVERFLOW_COST = 2.0


class Improved(NamedTuple):
    """A policy with its expected cost per step, and how many evaluations it took to find."""

    policy: RBFPolicy
    cost: float
    evaluations: int


def improve_policy(
    task: Task,
    policy: RBFPolicy,
    gp: ConditionedGP,
    noise_variance: Float[Array, " D"],
    *,
    max_iterations: int,
) -> Improved:
    """The policy at a local minimum of the expected cost, or wherever the search is after `max_iterations`.

    The limit is a count and never a time: the same data must give the same policy on a busy machine. Must be called
    with 64-bit arithmetic switched on.
    """
    start, unravel = ravel_pytree(policy)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = loss_and_gradient(task, unravel(jnp.asarray(flat)), gp, noise_variance)
        slope = np.asarray(ravel_pytree(gradient)[0])
        if not (np.isfinite(loss) and np.isfinite(slope).all()):
            return _OVERFLOW_COST, np.zeros_like(slope)
        return float(loss), slope

    options = {"maxiter": max_iterations, "maxfun": 2 * max_iterations, "maxcor": 20}
    found = minimize(objective, np.asarray(start), jac=True, method="L-BFGS-B", options=options)
    return Improved(unravel(jnp.asarray(found.x)), float(found.fun), int(found.nfev))
