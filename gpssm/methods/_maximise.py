"""L-BFGS on the trainable leaves of any tree of parameters, as a stage of a fit."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from gpssm._core._compile import compile_well
from gpssm._core._history import History
from gpssm._core._params import trainable_mask
from gpssm._core._result import Result
from gpssm._core._rounds import Evaluation
from gpssm.fitting import Stage, Status
from gpssm.fitting._search import search

Objective = Callable[[PyTree, Any], Float[Array, ""]]
"""Of the parameters and the data; a function at module level, so that it is compiled once for all data of a shape."""


class Maximum(NamedTuple):
    """Where a search ended."""

    tree: PyTree
    value: float
    """Minus infinity if the objective was finite nowhere."""
    interrupted: bool


@compile_well
def value_and_slope(
    objective: Objective, trained: PyTree, held: PyTree, data: Any
) -> tuple[Float[Array, ""], Float[Array, " K"]]:
    """The objective and its gradient as one flat vector."""

    def of_trained(leaves: PyTree) -> Array:
        return objective(eqx.combine(leaves, held), data)

    value, gradient = jax.value_and_grad(of_trained)(trained)
    return value, ravel_pytree(gradient)[0]


def maximise(
    tree: PyTree, objective: Objective, data: Any, *, iterations: int, stage: Stage, label: str = "log-evidence"
) -> Maximum:
    """The best parameters seen and their value. Goes on from the last checkpoint if the stage was broken off."""
    ended = stage.finished(tree)
    if ended is not None:
        return Maximum(ended[0], float(ended[1].bound[-1]), False)
    trained, held = eqx.partition(tree, trainable_mask(tree))
    first, unravel = ravel_pytree(trained)

    def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray, None]:
        value, slope = value_and_slope(objective, unravel(jnp.asarray(flat, first.dtype)), held, data)
        return -float(value), -np.asarray(slope, float), None

    def tell(accepted: Evaluation, history: History) -> Status:
        history.bound = np.append(history.bound, -accepted.loss)
        done = len(history.bound)
        return Status(stage.shown, done, iterations, -accepted.loss, done / history.seconds, label=label)

    searched = search(
        evaluate,
        np.asarray(first, float),
        stage,
        History(1.0),
        iterations=iterations,
        tell=tell,
        tolerance=1e-9,
        gradient_tolerance=1e-6,
    )
    best, value = (first, -np.inf) if searched.best is None else (searched.best.at, -searched.best.loss)
    found = eqx.combine(unravel(jnp.asarray(best, first.dtype)), held)
    stopped, history = searched.ending is None, searched.history
    if not stopped and np.isfinite(value):
        history.bound = np.append(history.bound, value)
        stage.end(found, history, Result.finished)
    return Maximum(found, value, stopped)


def perturb(tree: PyTree, *, spread: float, key: PRNGKeyArray) -> PyTree:
    """The tree with Gaussian noise on every trainable leaf: another place to start from."""
    trained, held = eqx.partition(tree, trainable_mask(tree))
    flat, unravel = ravel_pytree(trained)
    return eqx.combine(unravel(flat + spread * jax.random.normal(key, flat.shape, flat.dtype)), held)
