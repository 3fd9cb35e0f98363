"""L-BFGS on the trainable leaves of any tree of parameters."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray, PyTree
from scipy.optimize import minimize

from gpssm._params import trainable_mask

Objective = Callable[[PyTree, Any], Float[Array, ""]]
"""Of the parameters and the data; a function at module level, so that it is compiled once for all data of a shape."""


@eqx.filter_jit
def value_and_slope(
    objective: Objective, trained: PyTree, held: PyTree, data: Any
) -> tuple[Float[Array, ""], Float[Array, " K"]]:
    """The objective and its gradient as one flat vector."""

    def of_trained(leaves: PyTree) -> Array:
        return objective(eqx.combine(leaves, held), data)

    value, gradient = jax.value_and_grad(of_trained)(trained)
    return value, ravel_pytree(gradient)[0]


def maximise(tree: PyTree, objective: Objective, data: Any, *, iterations: int) -> tuple[PyTree, float]:
    """The best parameters seen and their value; minus infinity if the objective was finite nowhere.

    Where the objective is not finite the search sees a wall of moderate height, which makes its step shorter; an
    enormous one would make it stop.
    """
    trained, held = eqx.partition(tree, trainable_mask(tree))
    start, unravel = ravel_pytree(trained)
    best: tuple[float, np.ndarray] = (-np.inf, np.asarray(start, float))
    worst = 0.0

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, worst
        value, slope = value_and_slope(objective, unravel(jnp.asarray(flat, start.dtype)), held, data)
        value, slope = float(value), np.asarray(slope, float)
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return worst + abs(worst) + 1.0, np.zeros_like(slope)
        worst = max(worst, -value) if np.isfinite(best[0]) else -value
        if value > best[0]:
            best = (value, np.array(flat))
        return -value, -slope

    options = {"maxiter": iterations, "maxfun": 3 * iterations + 10, "maxcor": 20, "ftol": 1e-9, "gtol": 1e-6}
    minimize(loss, best[1], jac=True, method="L-BFGS-B", options=options)
    return eqx.combine(unravel(jnp.asarray(best[1], start.dtype)), held), best[0]


def shaken(tree: PyTree, *, spread: float, key: PRNGKeyArray) -> PyTree:
    """The tree with Gaussian noise on every trainable leaf: another place to start from."""
    trained, held = eqx.partition(tree, trainable_mask(tree))
    flat, unravel = ravel_pytree(trained)
    return eqx.combine(unravel(flat + spread * jax.random.normal(key, flat.shape, flat.dtype)), held)
