"""Compiling for how often a program runs: what runs a few times quickly rather than well."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import jax
from jax import lax
from jax.core import Tracer
from jaxtyping import PyTree

from gpssm._core._program import Program

P = ParamSpec("P")
R = TypeVar("R")

LARGE = 10_000
"""From so many steps of a state on it pays to let the compiler try harder: that takes a second more, and saves about
twenty microseconds a step, a second in five such calls."""


def compile_for_setup(function: Callable[P, R]) -> Callable[P, R]:
    """The function as one compiled program, with little optimisation.

    Outside a compiled function every operation on every shape of array is a program of its own, and a model is set up
    by a hundred of them. Together they compile faster, and faster still if the compiler does not try hard. Numbers
    given as arrays are arguments, so that a second call with others finds the program. While something else is being
    traced, the function becomes part of that.
    """
    return _compiled(function, lambda *args, **kwargs: True)


def compile_by_work(steps: Callable[P, int]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function with little optimisation where it has little to do, and to run fast where it has much.

    `steps` tells from the arguments how many steps it makes, in all its trajectories together. It may look at shapes
    and whole numbers only: the two programs differ in the last digits, and the same call must give the same bits.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        return _compiled(function, lambda *args, **kwargs: steps(*args, **kwargs) < LARGE)

    return decorate


def compile_soon(function: Callable[P, R]) -> Program[P, R]:
    """The function as a program that is compiled in half of the time and takes a quarter longer to run."""
    return Program(function, partial(compiler_options, False))


def compile_at_once(function: Callable[P, R]) -> Program[P, R]:
    """The function as a program that is compiled in a third of the time and takes two or three times as long to run."""
    return Program(function, partial(compiler_options, True))


def compile_well(function: Callable[P, R]) -> Program[P, R]:
    """The function as a program that runs as fast as it can."""
    return Program(function, lambda: None)


def _compiled(function: Callable[P, R], is_small: Callable[P, bool]) -> Callable[P, R]:
    programs = {small: Program(function, partial(compiler_options, small)) for small in (True, False)}

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        # The compiler takes options for a program of its own only, and not for a part of one that is being traced.
        if _is_tracing((args, kwargs)):
            return function(*args, **kwargs)
        return programs[is_small(*args, **kwargs)](*args, **kwargs)

    return wrapped


def compiler_options(small: bool) -> dict[str, Any]:
    """What makes the compiler quick. Other machines than a CPU do not know its own options.

    On a CPU, loops over time run as fast without the emitters of fused kernels and without the later passes, which
    double the time to compile them.
    """
    on_cpu = jax.default_backend() == "cpu"
    if small:
        return {"xla_backend_optimization_level": 0} | ({"xla_cpu_use_fusion_emitters": False} if on_cpu else {})
    return {"xla_backend_optimization_level": 1, "xla_cpu_use_fusion_emitters": False} if on_cpu else {}


def _is_tracing(arguments: PyTree) -> bool:
    """Whether an argument is traced, or the caller: then even a constant becomes part of its program."""
    leaves = [*jax.tree.leaves(arguments), lax.full((), 0)]
    return any(isinstance(leaf, Tracer) for leaf in leaves)
