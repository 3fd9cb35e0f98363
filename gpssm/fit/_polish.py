"""Polish: full-batch L-BFGS on a deterministic bound, usually with free states, to the optimum of the family."""

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PRNGKeyArray
from scipy.optimize import OptimizeResult, minimize

from gpssm._history import History, Trace
from gpssm._model import GPSSM
from gpssm._precision import double_precision
from gpssm._result import Result
from gpssm.data import Padded
from gpssm.fit._fit import Trained
from gpssm.fit._problem import Freeze, Problem, finish
from gpssm.fit._progress import Progress, Report, Silent
from gpssm.inference import Variational


@double_precision
def polish(
    model: GPSSM,
    inference: Variational,
    data: Padded,
    *,
    iterations: int = 500,
    tolerance: float = 1e-7,
    memory: int = 20,
    freeze: Freeze | None = None,
    progress: Progress | None = None,
    stage: str = "L-BFGS",
    key: PRNGKeyArray,
) -> Trained:
    """Maximise the bound by L-BFGS until the relative gain of an iteration falls below `tolerance`.

    The random numbers of the bound are drawn once and held, so that the objective is deterministic; quadrature needs
    none. The best parameters seen are returned, never NaN.
    """
    progress = Silent() if progress is None else progress
    bound_key, finish_key = jr.split(key)
    problem = Problem.of((model, inference), data, freeze)
    trained, held = problem.split((model, inference))
    start, unravel = ravel_pytree(trained)
    began, history = time.monotonic(), History(problem.num_steps)
    best_loss, best = np.inf, np.asarray(start)
    last: list[Trace] = []

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best_loss, best
        loss, gradient, trace = _value_and_grad(problem, unravel(jnp.asarray(flat, start.dtype)), held, data, bound_key)
        loss, gradient = float(loss), np.asarray(ravel_pytree(gradient)[0], dtype=float)
        if not (np.isfinite(loss) and np.isfinite(gradient).all()):
            # The line search takes this for a wall and comes back with a shorter step.
            return 1e10 + abs(best_loss), np.zeros_like(gradient)
        last[:] = [trace]
        if loss < best_loss:
            best_loss, best = loss, np.array(flat)
        return loss, gradient

    def after_iteration(intermediate_result: OptimizeResult) -> None:
        history.append(jax.tree.map(lambda leaf: leaf[None], last[0]))
        done = len(history.bound)
        progress.update(
            Report(
                stage=stage,
                step=done,
                total=iterations,
                bound=float(history.bound[-1]),
                process_noise=np.asarray(last[0].process_noise),
                measurement_noise=np.asarray(last[0].measurement_noise),
                steps_per_second=done / (time.monotonic() - began),
            )
        )

    result = Result.finished
    try:
        options = {"maxiter": iterations, "maxfun": 4 * iterations, "maxcor": memory, "ftol": tolerance, "gtol": 1e-7}
        outcome = minimize(
            objective,
            np.asarray(start, dtype=float),
            jac=True,
            method="L-BFGS-B",
            callback=after_iteration,
            options=options,
        )
        result = Result.converged if outcome.success else Result.finished
    except KeyboardInterrupt:
        result = Result.interrupted
    if not np.isfinite(best_loss):
        result = Result.diverged
    gain = -best_loss - (history.bound[0] if len(history.bound) else -best_loss)
    history.events.append(
        f"{stage}: {result.value}; {len(history.bound)} iterations raised the bound by {gain:.4f} a step"
    )
    history.seconds = time.monotonic() - began
    tree = eqx.combine(unravel(jnp.asarray(best, start.dtype)), held)
    return Trained(*finish(tree, data, key=finish_key), history, result)


@eqx.filter_jit
def _value_and_grad(problem: Problem, trained, held, data: Padded, key: PRNGKeyArray):
    (loss, (bound, _)), gradient = eqx.filter_value_and_grad(problem.loss, has_aux=True)(trained, held, data, key)
    model, _ = eqx.combine(trained, held)
    trace = Trace(
        terms=bound.terms(),
        total=bound.total(),
        process_noise=model.transition.noise_variance(),
        measurement_noise=model.emission.noise_variance(),
        gradient_norm=jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradient))),
        jitter=bound.jitter,
    )
    return loss, gradient, trace
