"""The kernel that models have unless told otherwise."""

from jaxtyping import ArrayLike

from gpssm.kernels._abstract import AbstractKernel
from gpssm.kernels._late import everything


def rbf(lengthscale: ArrayLike, variance: ArrayLike) -> AbstractKernel:
    """GPJax's RBF with a length-scale for each input."""
    return everything().RBF(lengthscale=lengthscale, variance=variance)
