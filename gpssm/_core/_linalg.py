"""Every Cholesky factorisation and triangular inverse of the package, safe under `vmap`.

Two reasons to have one small module. First, on current jax two independent *batched* LAPACK calls in one compiled
function can deadlock on a two-core machine; here a batch is worked through one matrix at a time, whatever `vmap`
surrounds the call. Second, jitter has one owner: it is relative to the matrix, and where a factorisation fails it
grows tenfold until it succeeds.

The factor comes with its inverse. Triangular solves against it are then plain matrix products, which are threaded and
batched safely, and the derivative needs no LAPACK call at all.
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import sequential_vmap
from jaxtyping import Array, Float

from gpssm._core._alike import WRITTEN_OUT

ESCALATIONS = 6
"""How often a failed factorisation is tried again with ten times the jitter."""


class Factor(eqx.Module):
    """A + jitter mean(diag A) I = L L', with L inverted."""

    chol: Float[Array, "*B M M"]
    inverse: Float[Array, "*B M M"]
    jitter: Float[Array, "*B"]
    """The relative jitter that was needed; above the base value if the factorisation had to be tried again."""

    def log_det(self) -> Float[Array, "*B"]:
        """Log-determinant of the matrix."""
        return 2.0 * jnp.sum(jnp.log(jnp.diagonal(self.chol, axis1=-2, axis2=-1)), axis=-1)


def base_jitter(dtype: jnp.dtype) -> float:
    """Relative jitter for kernel matrices: the smallest that is reliable in each precision."""
    return 1e-6 if jnp.finfo(dtype).bits == 64 else 1e-5


def rounding_jitter(dtype: jnp.dtype) -> float:
    """Relative jitter for matrices that are well conditioned by construction (I + P with P >= 0)."""
    return 10.0 * float(jnp.finfo(dtype).eps)


@jax.custom_jvp
def product(a: Float[Array, "I J"], b: Float[Array, "J K"]) -> Float[Array, "I K"]:
    """a @ b whose reverse derivative multiplies by a copy of a' rather than by a' read across its rows: on a CPU the
    latter takes more than twice as long."""
    return a @ b


@product.defjvp
def _product_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    (a, b), (da, db) = primals, tangents
    # The transpose of this matrix, which the reverse derivative asks for, is the copy itself.
    turned = lax.optimization_barrier(a.T).T
    return product(a, b), da @ b + turned @ db


def transposed(a: Float[Array, "I J"]) -> Float[Array, "J I"]:
    """a' as a copy, to be the left factor of a product."""
    return lax.optimization_barrier(a.T)


@jax.custom_vjp
def weighted_gram(rows: Float[Array, "M N"], weights: Float[Array, " N"]) -> Float[Array, "M M"]:
    """rows diag(weights) rows', whose derivative knows that it is symmetric: one product with N columns, not two."""
    return (rows * weights[None, :]) @ rows.T


def _weighted_gram_fwd(rows: Array, weights: Array) -> tuple[Array, tuple[Array, Array]]:
    return weighted_gram(rows, weights), (rows, weights)


def _weighted_gram_bwd(saved: tuple[Array, Array], cotangent: Array) -> tuple[Array, Array]:
    rows, weights = saved
    turned = (cotangent + cotangent.T) @ rows
    return turned * weights[None, :], 0.5 * jnp.sum(rows * turned, axis=0)


weighted_gram.defvjp(_weighted_gram_fwd, _weighted_gram_bwd)


def factorise(matrix: Float[Array, "M M"], jitter: float) -> Factor:
    """Cholesky factor of a symmetric positive matrix and its inverse; NaN if even the largest jitter does not help."""
    return Factor(*_factorise(jitter, matrix))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _factorise(jitter: float, matrix: Array) -> tuple[Array, Array, Array]:
    return _factorise_one(matrix, jnp.asarray(jitter, matrix.dtype))


@sequential_vmap
def _factorise_one(matrix: Array, jitter: Array) -> tuple[Array, Array, Array]:
    eye = jnp.eye(matrix.shape[0], dtype=matrix.dtype)
    scale = jnp.mean(jnp.diagonal(matrix))

    def attempt(level: Array) -> tuple[Array, Array]:
        relative = jitter * 10.0 ** level.astype(matrix.dtype)
        return relative, lax.linalg.cholesky(matrix + relative * scale * eye, symmetrize_input=False)

    def failed(carry: tuple[Array, Array, Array]) -> Array:
        level, _, chol = carry
        return (level < ESCALATIONS) & ~jnp.all(jnp.isfinite(chol))

    def again(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        level = carry[0] + 1
        return level, *attempt(level)

    start = jnp.asarray(0, jnp.int32)
    _, relative, chol = lax.while_loop(failed, again, (start, *attempt(start)))
    inverse = lax.linalg.triangular_solve(chol, eye, left_side=True, lower=True)
    return jnp.tril(chol), jnp.tril(inverse), relative


@_factorise.defjvp
def _factorise_jvp(jitter: float, primals: tuple[Array], tangents: tuple[Array]):
    chol, inverse, relative = _factorise(jitter, *primals)
    (dmatrix,) = tangents
    eye = jnp.eye(chol.shape[-1], dtype=chol.dtype)
    dmatrix = 0.5 * (dmatrix + dmatrix.T) + relative * jnp.mean(jnp.diagonal(dmatrix)) * eye
    middle = product(inverse, dmatrix) @ inverse.T
    lower = jnp.tril(middle) - 0.5 * middle * eye
    dinverse = -lower @ inverse
    return (chol, inverse, relative), (product(chol, lower), dinverse, jnp.zeros_like(relative))


def small_cholesky(matrix: Float[Array, "*B D D"]) -> Float[Array, "*B D D"]:
    """Cholesky factors of many state-sized matrices, written out over the few columns: elementwise, so any batch is
    safe. With many columns that would take minutes to compile, and LAPACK works through the batch instead."""
    size = matrix.shape[-1]
    if size > WRITTEN_OUT:
        chols = jax.vmap(partial(_factorise, 0.0))(matrix.reshape(-1, size, size))[0]
        return chols.reshape(matrix.shape)
    columns: list[Array] = []
    for j in range(size):
        column = matrix[..., :, j]
        for done in columns:
            column = column - done * done[..., j : j + 1]
        keep = jnp.broadcast_to(jnp.arange(size) >= j, column.shape)
        pivot = jnp.sqrt(column[..., j : j + 1])
        columns.append(jnp.where(keep, column / pivot, jnp.zeros_like(column)))
    return jnp.stack(columns, axis=-1)
