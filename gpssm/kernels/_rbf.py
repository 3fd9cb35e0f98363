"""The kernel that models have unless told otherwise."""

from jaxtyping import ArrayLike

from gpssm.kernels._abstract import AbstractKernel


def rbf(lengthscale: ArrayLike, variance: ArrayLike) -> AbstractKernel:
    """GPJax's RBF with a length-scale for each input."""
    from gpjax.kernels import RBF

    return RBF(lengthscale=lengthscale, variance=variance)  # pyright: ignore[reportArgumentType]
