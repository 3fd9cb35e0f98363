"""Kernel matrices: `cross_covariance` and `diagonal` for any kernel, without repeated work inside compositions."""

from functools import reduce

import jax
import jax.numpy as jnp
from gpjax.kernels import AbstractKernel, ProductKernel, SumKernel
from gpjax.kernels.stationary import StationaryKernel
from jaxtyping import Array, Float

from gpssm._params import val
from gpssm.kernels._manifold import Manifold


def cross_covariance(
    kernel: AbstractKernel, x: Float[Array, "N Q"], y: Float[Array, "M Q"]
) -> Float[Array, "N M"]:
    """k(x_n, y_m). Sums, products and manifolds are taken apart first, so that no part is evaluated once per pair and layer."""
    match kernel:
        case SumKernel():
            return sum(cross_covariance(part, x, y) for part in kernel.kernels)  # type: ignore[return-value]
        case ProductKernel():
            return reduce(jnp.multiply, (cross_covariance(part, x, y) for part in kernel.kernels))
        case Manifold():
            return cross_covariance(kernel.base, kernel.features(x), kernel.features(y))
        case _:
            return kernel.cross_covariance(x, y)


def diagonal(kernel: AbstractKernel, x: Float[Array, "N Q"]) -> Float[Array, " N"]:
    """k(x_n, x_n)."""
    match kernel:
        case SumKernel():
            return sum(diagonal(part, x) for part in kernel.kernels)  # type: ignore[return-value]
        case ProductKernel():
            return reduce(jnp.multiply, (diagonal(part, x) for part in kernel.kernels))
        case Manifold():
            return diagonal(kernel.base, kernel.features(x))
        case StationaryKernel():
            return jnp.broadcast_to(jnp.squeeze(val(kernel.variance)), x.shape[:1])
        case _:
            return jax.vmap(lambda point: kernel(point, point))(x)
