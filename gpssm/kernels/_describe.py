"""A kernel in a few words, for people who look at a file or a page."""

from gpjax.kernels import AbstractKernel, ProductKernel, SumKernel

from gpssm.kernels._angles import Angles
from gpssm.kernels._manifold import Manifold


def describe_kernel(kernel: AbstractKernel) -> str:
    """Names of the parts, joined as they are."""
    if isinstance(kernel, SumKernel):
        return "(" + " + ".join(describe_kernel(part) for part in kernel.kernels) + ")"
    if isinstance(kernel, ProductKernel):
        return " * ".join(describe_kernel(part) for part in kernel.kernels)
    if isinstance(kernel, Manifold | Angles):
        return f"{type(kernel).__name__}({describe_kernel(kernel.base)})"
    return type(kernel).__name__
