"""The same computation for parts that are alike, such as the kernels of many states: written once where there are many
of them, because what is written out for each takes minutes to compile."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

WRITTEN_OUT = 8
"""Up to so many parts, or dimensions, are written out one after the other, which runs faster."""

P = TypeVar("P")
R = TypeVar("R")


def for_each(function: Callable[[P], R], parts: Sequence[P], *, written_out: int | None = None) -> list[R]:
    """What the function makes of each part. Many parts that differ in their numbers only share one program; what is
    done once and not in a loop need not be `written_out` at all."""
    if len(parts) <= (WRITTEN_OUT if written_out is None else written_out) or not _alike(parts):
        return [function(part) for part in parts]
    made = jax.vmap(function)(jax.tree.map(lambda *leaves: jnp.stack(leaves), *parts))
    return [jax.tree.map(lambda leaf, i=i: leaf[i], made) for i in range(len(parts))]


def _alike(parts: Sequence[Any]) -> bool:
    def form(part: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        leaves, tree = jax.tree.flatten(part)
        return tree, [(jnp.shape(leaf), getattr(leaf, "dtype", type(leaf))) for leaf in leaves]

    return all(form(part) == form(parts[0]) for part in parts[1:])
