"""Double precision at the library's entry points, without touching the global configuration. All of them pass here, so
that compiled programs are kept from here on, too."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from gpssm._core._compiler_clock import watch_compiler
from gpssm._core._program_cache import keep_programs

P = ParamSpec("P")
R = TypeVar("R")


def double_precision(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with 64-bit arrays enabled for this thread, whatever the caller's configuration.

    Fitting a GP in single precision is possible but fragile; a user should not have to know that jax starts in single
    precision.
    """

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        keep_programs()
        watch_compiler()
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return wrapped


class Portable:
    """Sent to another process or to a file by pickle, its arrays keep their precision.

    Left to themselves, arrays come back in the precision of whoever reads them, which is single unless told otherwise.
    """

    def __getstate__(self) -> dict[str, Any]:
        def out(leaf: Any) -> Any:
            return _Array(np.asarray(leaf)) if isinstance(leaf, jax.Array) else leaf

        return {name: jax.tree.map(out, value) for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        def back(leaf: Any) -> Any:
            return jnp.asarray(leaf.values) if isinstance(leaf, _Array) else leaf

        with jax.enable_x64(True):
            for name, value in state.items():
                # The classes that need this are frozen.
                object.__setattr__(self, name, jax.tree.map(back, value))


@dataclass(frozen=True)
class _Array:
    values: np.ndarray
