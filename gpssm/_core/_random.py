"""Random keys as users give them: a key, a whole number, or nothing."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from gpssm._core._compile import compile_for_setup

AnyKey = PRNGKeyArray | int | None


def as_key(key: AnyKey = None, seed: int | None = None) -> PRNGKeyArray:
    """The key itself, that of a seed, or that of seed 0: the same call gives the same numbers."""
    if key is not None and seed is not None:
        raise ValueError("give either key= or seed=, not both")
    given = seed if key is None else key
    if given is None:
        return jr.key(0)
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        if isinstance(given, jax.Array) and (jnp.issubdtype(given.dtype, jax.dtypes.prng_key) or given.ndim == 1):
            return given
        raise TypeError(f"{given!r} is neither a random key nor a whole number: write seed=0, or key=jax.random.key(0)")
    return jr.key(int(given))


@compile_for_setup
def standard_normal(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Standard normal numbers. Asked for outside a compiled function, `jr.normal` takes four times as long to
    compile."""
    return jr.normal(key, shape)


@compile_for_setup
def split(key: PRNGKeyArray, count: int = 2) -> tuple[PRNGKeyArray, ...]:
    """As `jr.split`, one by one. Asked for outside a compiled function, that is a program, taking the parts of its
    answer apart another, and neither is kept ready."""
    return tuple(jr.split(key, count))


def fold_in(key: PRNGKeyArray, number: int) -> PRNGKeyArray:
    """As `jr.fold_in`, by one program for all numbers."""
    return _folded(key, np.uint32(number))


@compile_for_setup
def _folded(key: PRNGKeyArray, number: UInt32[Array | np.uint32, ""]) -> PRNGKeyArray:
    return jr.fold_in(key, number)


def seed_of(key: PRNGKeyArray) -> int:
    """A seed for what takes no keys."""
    return int(_seed(key))


@compile_for_setup
def _seed(key: PRNGKeyArray) -> Int[Array, ""]:
    return jr.randint(key, (), 0, 2**31 - 1)
