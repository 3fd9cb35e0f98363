"""Full-batch L-BFGS on a deterministic bound, to the optimum of the family."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.sharding import PartitionSpec
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from gpssm._core._compile import compile_at_once, compile_well
from gpssm._core._devices import Devices, here, shard_map_over_episodes, share_of
from gpssm._core._distributed import peer_errors, require_same
from gpssm._core._history import History, Trace
from gpssm._core._precision import double_precision
from gpssm._core._random import split
from gpssm._core._result import Result
from gpssm._core._rounds import Ending, Evaluation
from gpssm._core._sharding import EPISODES
from gpssm.fitting._identity import digest_tree
from gpssm.fitting._problem import Problem, Training, Tree, finish
from gpssm.fitting._progress import Status
from gpssm.fitting._search import search
from gpssm.fitting._stage import Stage
from gpssm.models import Batch
from gpssm.optimisers._base import AbstractOptimiser, Trained

MUCH_SEARCHING = 30_000
"""Time steps of episodes, counted anew in each iteration, from which on the fast program is worth waiting for. With two
or three states and 50 inducing points the two are level at 35 000 to 60 000."""
RESULTS = {Ending.converged: Result.converged, Ending.exhausted: Result.finished, Ending.stuck: Result.plateau}


class LBFGS(AbstractOptimiser):
    """L-BFGS until the relative gain of an iteration falls below `tolerance`.

    The random numbers of the bound are drawn once and held, so that the objective is deterministic; quadrature needs
    none. The best parameters seen are returned, never NaN. Steps are taken on the host, in rounds of 150 iterations.
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
    def run(
        self, tree: Tree, training: Training, stage: Stage, *, key: PRNGKeyArray, planned: int | None = None
    ) -> Trained:
        """Search from this start on. `planned` are the iterations of the whole, if this is one round of several."""
        if tree[1].needs().steps_between:
            raise ValueError("L-BFGS takes no natural-gradient steps: use Collapsed() or Explicit() with it")
        data, devices = training.data, stage.devices
        if devices is not None and devices.num_processes > 1:
            require_same(digest_tree((self.iterations, tree, data, jr.key_data(key))))
        before = stage.finished(tree)
        if before is not None:
            return Trained(*before)
        bound_key, finish_key = split(key)
        problem = Problem.of(tree, data, training.freeze)
        trained, held = problem.split(tree)
        first, unravel = ravel_pytree(trained)
        few = (self.iterations if planned is None else planned) * data.valid.size < MUCH_SEARCHING
        given = _Given.of((problem, trained, held), data, bound_key, devices, few)

        def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray, Trace]:
            with peer_errors():
                loss, gradient, trace = _value_and_grad(given, np.asarray(flat, first.dtype))
                return float(loss), np.asarray(gradient, dtype=float), trace

        def tell(accepted: Evaluation, history: History) -> Status:
            # By NumPy: on JAX's arrays this would take longer than what SciPy does.
            history.append(jax.tree.map(lambda leaf: np.asarray(leaf)[None], accepted.told))
            return _status(stage.shown, history, accepted.told, self.iterations)

        found = search(
            evaluate,
            np.asarray(first, float),
            stage,
            History(float(problem.num_steps)),
            iterations=self.iterations,
            tolerance=self.tolerance,
            memory=self.memory,
            tell=tell,
        )
        result = Result.interrupted if found.ending is None else RESULTS[found.ending]
        if found.best is None and result is not Result.interrupted:
            result = Result.diverged
        best, history = first if found.best is None else found.best.at, found.history
        history.events.append(
            f"{stage.shown}: {result.value}; {len(history.bound)} iterations raised the bound by {found.gain:.4f} "
            "a step"
        )
        tree, finished = finish(eqx.combine(unravel(jnp.asarray(best, first.dtype)), held), data, key=finish_key)
        result = result if finished else Result.diverged
        stage.end(tree, history, result)
        return Trained(tree, history, result)


def _status(shown: str, history: History, trace: Trace, iterations: int) -> Status:
    done = len(history.bound)
    return Status(
        stage=shown,
        step=done,
        total=iterations,
        bound=float(history.bound[-1]),
        process_noise=np.asarray(trace.process_noise),
        measurement_noise=np.asarray(trace.measurement_noise),
        steps_per_second=done / history.seconds,
    )


@dataclass(frozen=True)
class _Given:
    """What stays the same from one evaluation to the next, taken apart and put in place once."""

    arrays: PyTree
    data: Batch
    numbers: Array
    program: "_Program"
    devices: Devices | None
    few: bool
    """Whether it is evaluated so seldom that the program is compiled quickly rather than well."""

    @classmethod
    def of(cls, parts: PyTree, data: Batch, key: PRNGKeyArray, devices: Devices | None, few: bool) -> "_Given":
        """From the problem, the trained leaves, whose values do not matter, and the others."""
        arrays, static = eqx.partition(parts, eqx.is_array)
        program, numbers = _Program(static, jr.key_impl(key), devices), jr.key_data(key)
        if devices is not None:
            data, (arrays, numbers) = devices.spread(data), devices.copy((arrays, numbers))
        return cls(arrays, data, numbers, program, devices, few)


@dataclass(frozen=True, eq=False)
class _Program:
    """All that a compiled program depends on beside the shapes; compared at every call."""

    static: PyTree
    key_impl: Hashable
    devices: Devices | None

    @cached_property
    def _key(self) -> tuple[Hashable, ...]:
        leaves, structure = jax.tree.flatten(self.static)
        return tuple(leaves), structure, self.key_impl, self.devices

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Program) and self._key == other._key)


def _value_and_grad(given: _Given, flat: Float[np.ndarray, " K"]):
    devices, compiled = given.devices, soon_compiled if given.few else well_compiled
    if devices is None:
        return compiled(given.program, flat, given.arrays, given.data, given.numbers)
    return here(compiled(given.program, devices.copy(flat), given.arrays, given.data, given.numbers))


def _evaluated(program: _Program, flat: Float[Array | np.ndarray, " K"], arrays: PyTree, data: Batch, numbers: Array):
    """The loss and its gradient as functions of one vector, and what is told of the point."""

    def evaluate(flat: Array, arrays: PyTree, data: Batch, numbers: Array):
        problem, trained, held = eqx.combine(arrays, program.static)
        trained = ravel_pytree(trained)[1](flat)
        key = jr.wrap_key_data(numbers, impl=program.key_impl)
        bound, gradient, _ = problem.gradients(trained, held, data, key, share_of(program.devices))
        model, _ = eqx.combine(trained, held)
        slope = ravel_pytree(gradient)[0]
        trace = Trace(
            terms=bound.terms(),
            total=bound.total(),
            process_noise=model.transition.noise_variance(),
            measurement_noise=model.emission.noise_variance(),
            gradient_norm=jnp.sqrt(jnp.sum(slope**2)),
            jitter=bound.jitter,
        )
        return -bound.total() / problem.num_steps, slope, trace

    everywhere = PartitionSpec()
    specs = (everywhere, everywhere, PartitionSpec(EPISODES), everywhere)
    return shard_map_over_episodes(program.devices, evaluate, specs)(flat, arrays, data, numbers)


soon_compiled, well_compiled = compile_at_once(_evaluated), compile_well(_evaluated)
