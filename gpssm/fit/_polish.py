"""Polish: full-batch L-BFGS on a deterministic bound, usually with free states, to the optimum of the family."""

import time
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import PartitionSpec
from jaxtyping import PRNGKeyArray
from scipy.optimize import OptimizeResult, minimize

from gpssm._devices import Devices, here, share_of, shared_out
from gpssm._history import History, Trace
from gpssm._model import GPSSM
from gpssm._precision import double_precision
from gpssm._processes import require_same, watching_peers
from gpssm._result import Result
from gpssm._share import EPISODES
from gpssm.data import Padded
from gpssm.files._identity import digest_tree
from gpssm.fit._fit import Trained
from gpssm.fit._problem import Freeze, Problem, finish
from gpssm.fit._progress import Progress, Silent, Status
from gpssm.fit._recorder import Recorder
from gpssm.inference import NaturalGradient, Variational


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
    recorder: Recorder | None = None,
    devices: Devices | None = None,
    key: PRNGKeyArray,
) -> Trained:
    """Maximise the bound by L-BFGS until the relative gain of an iteration falls below `tolerance`.

    The random numbers of the bound are drawn once and held, so that the objective is deterministic; quadrature needs
    none. The best parameters seen are returned, never NaN. A `recorder` stores the end; as everything here is
    deterministic, a broken polish starts again at its beginning and ends with the same bits. `devices` share the
    episodes among them; the steps of L-BFGS are taken on the host.
    """
    if isinstance(inference.inducing, NaturalGradient):
        raise ValueError("L-BFGS takes no natural-gradient steps: use Collapsed() or Explicit() to polish")
    progress = Silent() if progress is None or (devices is not None and not devices.is_first) else progress
    if devices is not None and devices.num_processes > 1:
        require_same(digest_tree((iterations, model, inference, data, jr.key_data(key))))
    before = None if recorder is None else recorder.finished((model, inference))
    if before is not None:
        return Trained(*before[0], *before[1:])
    bound_key, finish_key = jr.split(key)
    problem = Problem.of((model, inference), data, freeze)
    trained, held = problem.split((model, inference))
    start, unravel = ravel_pytree(trained)
    began, history = time.monotonic(), History(float(problem.num_steps))

    spread = data if devices is None else devices.spread(data)

    def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray, Trace]:
        at = unravel(jnp.asarray(flat, start.dtype))
        with watching_peers():
            loss, gradient, trace = _value_and_grad(problem, at, held, spread, bound_key, devices)
            return float(loss), np.asarray(ravel_pytree(gradient)[0], dtype=float), trace

    objective = _Objective(evaluate)

    def after_iteration(intermediate_result: OptimizeResult) -> None:
        trace = objective.accept()
        history.append(jax.tree.map(lambda leaf: leaf[None], trace))
        done = len(history.bound)
        progress.update(
            Status(
                stage=stage,
                step=done,
                total=iterations,
                bound=float(history.bound[-1]),
                process_noise=np.asarray(trace.process_noise),
                measurement_noise=np.asarray(trace.measurement_noise),
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
        result = {0: Result.converged, 1: Result.finished}.get(outcome.status, Result.plateau)
    except KeyboardInterrupt:
        result = Result.interrupted
    if objective.best is None:
        result, best, gain = Result.diverged, start, 0.0
    else:
        best, gain = jnp.asarray(objective.best.at, start.dtype), objective.gain()
    history.events.append(
        f"{stage}: {result.value}; {len(history.bound)} iterations raised the bound by {gain:.4f} a step"
    )
    history.seconds = time.monotonic() - began
    tree, finished = finish(eqx.combine(unravel(best), held), data, key=finish_key)
    result = result if finished else Result.diverged
    if recorder is not None:
        recorder.end(tree, history, result, progress)
    return Trained(*tree, history, result)


class _Evaluation(NamedTuple):
    at: np.ndarray
    loss: float
    gradient: np.ndarray
    trace: Trace


class _Objective:
    """The loss as a line search can bear it: where it is NaN there is a wall just high enough to make the step shorter.

    An enormous wall would make the line search shorten its step by as many orders of magnitude, gain nothing, and call
    that convergence.
    """

    def __init__(self, evaluate: Callable[[np.ndarray], tuple[float, np.ndarray, Trace]]):
        self._evaluate = evaluate
        self._first: _Evaluation | None = None
        self._last: _Evaluation | None = None
        self._origin: _Evaluation | None = None
        """Where the present line search started."""
        self.best: _Evaluation | None = None

    def __call__(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient, trace = self._evaluate(flat)
        if not (np.isfinite(loss) and np.isfinite(gradient).all()):
            return self._wall(flat), np.zeros_like(gradient)
        self._last = _Evaluation(np.array(flat), loss, gradient, trace)
        self._first = self._first or self._last
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

    def accept(self) -> Trace:
        """The line search has ended at the point evaluated last."""
        assert self._last is not None
        self._origin = self._last
        return self._last.trace

    def gain(self) -> float:
        """How much the loss has fallen since the first evaluation."""
        return 0.0 if self._first is None or self.best is None else self._first.loss - self.best.loss


def _value_and_grad(problem: Problem, trained, held, data: Padded, key: PRNGKeyArray, devices: Devices | None):
    numbers = jr.key_data(key)
    if devices is not None:
        problem, trained, held, numbers = devices.copy((problem, trained, held, numbers))
    found = _compiled(problem, trained, held, data, numbers, jr.key_impl(key), devices)
    return found if devices is None else here(found)


@eqx.filter_jit
def _compiled(problem: Problem, trained, held, data: Padded, numbers, key_impl, devices: Devices | None):
    arrays, static = eqx.partition((problem, trained, held), eqx.is_array)

    def evaluate(arrays, data: Padded, numbers):
        problem, trained, held = eqx.combine(arrays, static)
        key = jr.wrap_key_data(numbers, impl=key_impl)
        bound, gradient, _ = problem.gradients(trained, held, data, key, share_of(devices))
        model, _ = eqx.combine(trained, held)
        trace = Trace(
            terms=bound.terms(),
            total=bound.total(),
            process_noise=model.transition.noise_variance(),
            measurement_noise=model.emission.noise_variance(),
            gradient_norm=jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradient))),
            jitter=bound.jitter,
        )
        return -bound.total() / problem.num_steps, gradient, trace

    specs = (PartitionSpec(), PartitionSpec(EPISODES), PartitionSpec())
    return shared_out(devices, evaluate, specs)(arrays, data, numbers)
