"""Inverse and log-determinant of small matrices, without LAPACK.

Moment matching needs them for a batch of matrices at every step of a scan. Batched LAPACK calls inside compiled code
are slow at this size and have been seen to hang; a few elementwise operations are neither.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


@jax.custom_jvp
def inverse_and_logdet(matrix: Float[Array, "B D D"]) -> tuple[Float[Array, "B D D"], Float[Array, " B"]]:
    """Inverse and log-determinant of symmetric matrices whose eigenvalues are at least about one.

    The elimination does not exchange rows: for I + (positive semi-definite) every pivot is at least one.
    """
    logdet = jnp.zeros(matrix.shape[0], matrix.dtype)
    unit = jnp.eye(matrix.shape[-1], dtype=matrix.dtype)
    for k in range(matrix.shape[-1]):
        pivot = matrix[:, k, k]
        logdet = logdet + jnp.log(pivot)
        # One Gauss-Jordan sweep: unknown k is exchanged with equation k.
        column = matrix[:, :, k] - unit[None, k]
        row = (matrix[:, k, :] + unit[None, k]) / pivot[:, None]
        matrix = matrix - column[:, :, None] * row[:, None, :]
    return matrix, logdet


@inverse_and_logdet.defjvp
def _(
    primals: tuple[Float[Array, "B D D"]], tangents: tuple[Float[Array, "B D D"]]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    inverse, logdet = inverse_and_logdet(primals[0])
    product = inverse @ tangents[0]
    return (inverse, logdet), (-product @ inverse, jnp.trace(product, axis1=1, axis2=2))
