"""Compiling what is run once: quickly rather than well."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import equinox as eqx
import jax
from jax import lax
from jax.core import Tracer
from jaxtyping import PyTree

P = ParamSpec("P")
R = TypeVar("R")


def compile_for_setup(function: Callable[P, R]) -> Callable[P, R]:
    """The function as one compiled program, with little optimisation.

    Outside a compiled function every operation on every shape of array is a program of its own, and a model is set up
    by a hundred of them. Together they compile faster, and faster still if the compiler does not try hard. Numbers
    given as arrays are arguments, so that a second call with others finds the program. While something else is being
    traced, the function becomes part of that.
    """
    # The type checker does not see that further options go to `jax.jit`.
    compiled = eqx.filter_jit(function, compiler_options={"xla_backend_optimization_level": 0})  # pyright: ignore

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        # The compiler takes options for a program of its own only, and not for a part of one that is being traced.
        return function(*args, **kwargs) if _is_tracing((args, kwargs)) else compiled(*args, **kwargs)

    return wrapped


def _is_tracing(arguments: PyTree) -> bool:
    """Whether an argument is traced, or the caller: then even a constant becomes part of its program."""
    leaves = [*jax.tree.leaves(arguments), lax.full((), 0)]
    return any(isinstance(leaf, Tracer) for leaf in leaves)
