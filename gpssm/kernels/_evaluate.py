"""Kernel matrices: `cross_covariance` and `diagonal` of any kernel, open to kernels from outside.

What is here holds for every kernel. A class that can do better registers its own way beside its definition; nothing in
this package has to know of it.
"""

from functools import reduce

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm._core._alike import WRITTEN_OUT
from gpssm.kernels._abstract import AbstractKernel
from gpssm.kernels._by_class import by_class


@by_class
def cross_covariance(kernel: AbstractKernel, x: Float[Array, "N Q"], y: Float[Array, "M Q"]) -> Float[Array, "N M"]:
    """k(x_n, y_m).

    Sums, products and manifolds are taken apart first, so that no part is evaluated once per pair and layer; the
    common stationary kernels are computed from one matrix of squared distances. Any other kernel is evaluated as
    GPJax does, unless its class says how: `@cross_covariance.register` above a function of the same arguments, the
    first annotated with the class. Subclasses inherit this, also those that change the kernel.
    """
    return jnp.asarray(kernel.cross_covariance(x, y))


@by_class
def diagonal(kernel: AbstractKernel, x: Float[Array, "N Q"]) -> Float[Array, " N"]:
    """k(x_n, x_n).

    The kernel is called once per point, unless its class says how to do it faster: `@diagonal.register`, as for
    `cross_covariance`.
    """
    return jax.vmap(lambda point: jnp.asarray(kernel(point, point)))(x)


def squared_distances(
    x: Float[Array, "N Q"], y: Float[Array, "M Q"], rates: Float[Array, " Q"] | None = None
) -> Float[Array, "N M"]:
    """|x_n - y_m|^2 as a sum of squared differences, one input dimension at a time; the differences times `rates`, if
    there are any.

    The expansion into inner products would be cheaper, but loses the digits of small distances, and its derivative
    those of the gradient: a rough kernel divides by the distance, which is zero or, after rounding, nearly so on the
    diagonal.
    """
    if x.shape[1] > WRITTEN_OUT:
        between = x[:, None, :] - y[None, :, :]
        return jnp.sum((between if rates is None else between * rates) ** 2, axis=-1)
    columns = (x[:, q, None] - y[None, :, q] for q in range(x.shape[1]))
    if rates is not None:
        columns = (column * rates[q] for q, column in enumerate(columns))
    return reduce(jnp.add, (column**2 for column in columns))
