"""Constrained parameters, and the split of a tree into what is trained and what is not."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from jax.core import Tracer
from jaxtyping import Array, ArrayLike, DTypeLike, Float, PyTree
from paramax import AbstractUnwrappable

__all__ = ["LowerTriangular", "Positive", "cast", "trainable_mask", "val"]


def val(x: Any) -> Any:
    """The value of a parameter, of whatever kind; anything else is its own. As GPJax's function of this name, which
    would bring the whole of GPJax to linear models."""
    return paramax.unwrap(x) if isinstance(x, AbstractUnwrappable) else x


class Positive(AbstractUnwrappable):
    """A positive parameter held as its logarithm: a step is a percentage, whatever the scale."""

    log_value: Float[Array, "..."]

    @classmethod
    def of(cls, value: ArrayLike) -> "Positive":
        """The parameter whose value is `value`."""
        return cls(jnp.log(jnp.asarray(value)))

    def unwrap(self) -> Float[Array, "..."]:
        """The positive value."""
        return jnp.exp(self.log_value)


class LowerTriangular(AbstractUnwrappable):
    """Lower-triangular matrices with positive diagonal, stored square so that reading them is elementwise."""

    raw: Float[Array, "*B M M"]

    @classmethod
    def of(cls, chol: Float[Array, "*B M M"]) -> "LowerTriangular":
        """The parameter whose value is `chol`."""
        return cls(_lower_with_diagonal(chol, jnp.log))

    def unwrap(self) -> Float[Array, "*B M M"]:
        """The triangular matrices."""
        return _lower_with_diagonal(self.raw, jnp.exp)


def _lower_with_diagonal(matrix: Array, transform: Any) -> Array:
    eye = jnp.eye(matrix.shape[-1], dtype=matrix.dtype)
    diagonal = transform(jnp.diagonal(matrix, axis1=-2, axis2=-1))
    return jnp.tril(matrix, -1) + diagonal[..., :, None] * jnp.broadcast_to(eye, matrix.shape)


def cast(tree: PyTree, dtype: DTypeLike) -> PyTree:
    """All inexact arrays and floats of a tree as strongly typed arrays of one precision.

    Parameters built from Python floats are weakly typed and would make the second call of a compiled function compile
    again.
    """

    def convert(leaf: Any) -> Any:
        # Equinox's own test of "array-like" cannot be asked of a tracer.
        if not eqx.is_inexact_array(leaf) and not isinstance(leaf, float):
            return leaf
        # A copy, because parts to freeze are recognised by identity: no two leaves may be the same array.
        if isinstance(leaf, Tracer):
            return jnp.array(jax.lax.convert_element_type(leaf, jnp.dtype(dtype)), copy=True)
        # By way of NumPy: outside a compiled function, each shape would be a program of its own to compile.
        return jax.device_put(np.array(leaf, jax.dtypes.canonicalize_dtype(dtype)))

    return jax.tree.map(convert, tree)


def trainable_mask(tree: PyTree, frozen: PyTree | None = None) -> PyTree:
    """True for each inexact array that is to be trained; False below `paramax.NonTrainable` and at the leaves of
    `frozen`.

    `frozen` is any collection of nodes of `tree`; they are recognised by identity.
    """
    held = {id(leaf) for leaf in jax.tree.leaves(frozen)} if frozen is not None else set()

    def is_held(node: Any) -> bool:
        return isinstance(node, paramax.NonTrainable)

    def label(node: Any) -> Any:
        if is_held(node):
            return jax.tree.map(lambda _: False, node)
        return eqx.is_inexact_array(node) and id(node) not in held

    return jax.tree.map(label, tree, is_leaf=is_held)
