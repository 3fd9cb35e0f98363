"""Kernel matrices: `cross_covariance` and `diagonal` for any kernel, without repeated work inside compositions."""

from functools import reduce

import jax
import jax.numpy as jnp
from gpjax.kernels import RBF, AbstractKernel, Matern12, Matern32, Matern52, ProductKernel, SumKernel
from gpjax.kernels.stationary import StationaryKernel
from jaxtyping import Array, Float

from gpssm._params import val
from gpssm.kernels._angles import Angles
from gpssm.kernels._manifold import Manifold

_FLOOR = 1e-36
"""Squared distances below this count as zero, with zero gradient, so that roots of them have one."""


def cross_covariance(kernel: AbstractKernel, x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    """k(x_n, y_m).

    Sums, products and manifolds are taken apart first, so that no part is evaluated once per pair and layer; the
    common stationary kernels are computed from one matrix of squared distances. Any other kernel is evaluated as
    GPJax does.
    """
    match kernel:
        case SumKernel():
            return reduce(jnp.add, (cross_covariance(part, x, y) for part in kernel.kernels))
        case ProductKernel():
            return reduce(jnp.multiply, (cross_covariance(part, x, y) for part in kernel.kernels))
        case Manifold() | Angles():
            return cross_covariance(kernel.base, kernel.features(x), kernel.features(y))
        case RBF() | Matern12() | Matern32() | Matern52():
            return _stationary(kernel, x, y)
        case _:
            return jnp.asarray(kernel.cross_covariance(x, y))


def _stationary(kernel: StationaryKernel, x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    lengthscale, variance = val(kernel.lengthscale), jnp.squeeze(val(kernel.variance))
    x, y = jnp.asarray(kernel.slice_input(x)), jnp.asarray(kernel.slice_input(y))
    scale = jnp.broadcast_to(lengthscale, x.shape[-1:])[None, :]
    squares = squared_distances(x / scale, y / scale)
    if isinstance(kernel, RBF):
        return variance * jnp.exp(-0.5 * squares)
    distance = jnp.sqrt(jnp.maximum(squares, _FLOOR))
    match kernel:
        case Matern12():
            return variance * jnp.exp(-distance)
        case Matern32():
            scaled = 3.0**0.5 * distance
            return variance * (1.0 + scaled) * jnp.exp(-scaled)
        case _:
            scaled = 5.0**0.5 * distance
            return variance * (1.0 + scaled + scaled**2 / 3.0) * jnp.exp(-scaled)


def squared_distances(x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    """|x_n - y_m|^2 as a sum of squared differences, one input dimension at a time.

    The expansion into inner products would be cheaper, but loses the digits of small distances, and its derivative
    those of the gradient: a rough kernel divides by the distance, which is zero or, after rounding, nearly so on the
    diagonal.
    """
    columns = (x[:, q, None] - y[None, :, q] for q in range(x.shape[1]))
    return reduce(jnp.add, (column**2 for column in columns))


def diagonal(kernel: AbstractKernel, x: Float[Array, "N Q"]) -> Float[Array, " N"]:
    """k(x_n, x_n)."""
    match kernel:
        case SumKernel():
            return reduce(jnp.add, (diagonal(part, x) for part in kernel.kernels))
        case ProductKernel():
            return reduce(jnp.multiply, (diagonal(part, x) for part in kernel.kernels))
        case Manifold() | Angles():
            return diagonal(kernel.base, kernel.features(x))
        case StationaryKernel():
            return jnp.broadcast_to(jnp.squeeze(val(kernel.variance)), x.shape[:1])
        case _:
            return jax.vmap(lambda point: jnp.asarray(kernel(point, point)))(x)
