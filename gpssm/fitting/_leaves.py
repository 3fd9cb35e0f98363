"""The arrays of a tree by name, and a tree of the same structure filled with other arrays."""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from gpssm._core._errors import FileError
from gpssm.fitting._store import Tensors

T = TypeVar("T")


def named_leaves(tree: object, name: str) -> Tensors:
    """Every array of a tree under its place in it."""
    placed = jax.tree_util.tree_leaves_with_path(eqx.filter(tree, eqx.is_array))
    return {name + jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in placed}


def fill(skeleton: T, tensors: Tensors, name: str) -> T:
    """The tree with the arrays that `named_leaves` gave for one of the same structure."""

    def replaced(path: jax.tree_util.KeyPath, leaf: jax.Array | np.ndarray) -> jax.Array:
        stored = tensors.get(name + jax.tree_util.keystr(path))
        if stored is None or stored.shape != leaf.shape or stored.dtype != leaf.dtype:
            raise FileError(f"{name}{jax.tree_util.keystr(path)} is missing or has another shape or type")
        return jnp.asarray(stored)

    arrays, rest = eqx.partition(skeleton, eqx.is_array)
    return eqx.combine(jax.tree_util.tree_map_with_path(replaced, arrays), rest)
