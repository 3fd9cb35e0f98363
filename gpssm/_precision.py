"""Double precision at the library's entry points, without touching the global configuration."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

P = ParamSpec("P")
R = TypeVar("R")


def double_precision(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with 64-bit arrays enabled for this thread, whatever the caller's configuration.

    Fitting a GP in single precision is possible but fragile; a user should not have to know that jax starts in single
    precision.
    """

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return wrapped
