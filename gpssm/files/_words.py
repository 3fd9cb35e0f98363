"""A model in a few words, for people who look at a file."""

import equinox as eqx
import jax
from gpjax.kernels import AbstractKernel, ProductKernel, SumKernel

from gpssm.kernels import Angles, Manifold
from gpssm.transition import AbstractTransition, SparseGP


def kernel_words(transition: AbstractTransition) -> list[str]:
    """One description for each kernel."""
    return [_words(kernel) for kernel in transition.kernels] if isinstance(transition, SparseGP) else []


def _words(kernel: AbstractKernel) -> str:
    if isinstance(kernel, SumKernel):
        return "(" + " + ".join(_words(part) for part in kernel.kernels) + ")"
    if isinstance(kernel, ProductKernel):
        return " * ".join(_words(part) for part in kernel.kernels)
    if isinstance(kernel, Manifold):
        return f"Manifold({_words(kernel.base)})"
    if isinstance(kernel, Angles):
        return f"Angles({_words(kernel.base)})"
    return type(kernel).__name__


def inducing_points(transition: AbstractTransition) -> int | None:
    """How many, for a GP."""
    return int(transition.inducing.shape[-2]) if isinstance(transition, SparseGP) else None


def count_parameters(tree: object) -> int:
    """Numbers in all arrays."""
    return sum(int(leaf.size) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array)))
