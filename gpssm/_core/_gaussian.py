"""Gaussian atoms: affine chains, covariances along a chain, masked sums, Gaussian divergences.

Both chains are linear in what they carry, so their derivative is a chain run backwards; written out as such, the
gradient with respect to the gains is one product outside the loop instead of an accumulation inside it. Inside a loop
a multiply-and-sum over the few state dimensions is several times faster than a matrix product call.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

LOG_2PI = math.log(2.0 * math.pi)


def matvec(matrix: Float[Array, "*B I J"], vector: Float[Array, "*B J"]) -> Float[Array, "*B I"]:
    """Small matrix times vector, elementwise."""
    return jnp.sum(matrix * vector[..., None, :], axis=-1)


def matmul(a: Float[Array, "*B I J"], b: Float[Array, "*B J K"]) -> Float[Array, "*B I K"]:
    """Small matrix product, elementwise."""
    return jnp.sum(a[..., :, :, None] * b[..., None, :, :], axis=-2)


def transpose(a: Float[Array, "*B I J"]) -> Float[Array, "*B J I"]:
    """Matrix transpose of the last two axes."""
    return jnp.swapaxes(a, -1, -2)


@jax.custom_vjp
def affine_chain(gains: Float[Array, "T D D"], steps: Float[Array, "T D"]) -> Float[Array, "T D"]:
    """d[0] = steps[0], d[t] = gains[t] d[t-1] + steps[t]. The first gain is not used."""

    def body(carry: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        gain, step = now
        carry = matvec(gain, carry) + step
        return carry, carry

    return lax.scan(body, jnp.zeros_like(steps[0]), (gains, steps))[1]


def _affine_chain_fwd(gains: Array, steps: Array):
    chain = affine_chain(gains, steps)
    return chain, (gains, chain)


def _affine_chain_bwd(saved: tuple[Array, Array], cotangent: Array) -> tuple[Array, Array]:
    gains, chain = saved

    def body(carry: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        next_gain, cot = now
        carry = cot + matvec(transpose(next_gain), carry)
        return carry, carry

    adjoint = lax.scan(body, jnp.zeros_like(cotangent[0]), (_next(gains), cotangent), reverse=True)[1]
    return adjoint[:, :, None] * _previous(chain)[:, None, :], adjoint


affine_chain.defvjp(_affine_chain_fwd, _affine_chain_bwd)


@jax.custom_vjp
def covariance_chain(gains: Float[Array, "T D D"], noises: Float[Array, "T D D"]) -> Float[Array, "T D D"]:
    """S[0] = noises[0], S[t] = gains[t] S[t-1] gains[t]' + noises[t]."""

    def body(carry: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        gain, noise = now
        carry = matmul(matmul(gain, carry), transpose(gain)) + noise
        return carry, carry

    return lax.scan(body, jnp.zeros_like(noises[0]), (gains, noises))[1]


def _covariance_chain_fwd(gains: Array, noises: Array):
    covs = covariance_chain(gains, noises)
    return covs, (gains, covs)


def _covariance_chain_bwd(saved: tuple[Array, Array], cotangent: Array) -> tuple[Array, Array]:
    gains, covs = saved

    def body(carry: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        next_gain, cot = now
        carry = cot + matmul(matmul(transpose(next_gain), carry), next_gain)
        return carry, carry

    adjoint = lax.scan(body, jnp.zeros_like(cotangent[0]), (_next(gains), cotangent), reverse=True)[1]
    return matmul(matmul(adjoint + transpose(adjoint), gains), _previous(covs)), adjoint


covariance_chain.defvjp(_covariance_chain_fwd, _covariance_chain_bwd)


def _previous(chain: Array) -> Array:
    return jnp.concatenate([jnp.zeros_like(chain[:1]), chain[:-1]])


def _next(chain: Array) -> Array:
    return jnp.concatenate([chain[1:], jnp.zeros_like(chain[:1])])


def masked_sum(values: Float[Array, "..."], where: Bool[Array, "..."]) -> Float[Array, ""]:
    """Sum of the values that count; the others may hold anything finite."""
    return jnp.sum(jnp.where(where, values, jnp.zeros_like(values)))


def expected_log_normal(
    squared_error: Float[Array, "*S"], variance: Float[Array, "*S"] | Float[Array, "..."]
) -> Float[Array, "*S"]:
    """E log N(a | b, variance), given the expected squared difference of a and b."""
    return -0.5 * (LOG_2PI + jnp.log(variance) + squared_error / variance)


def kl_to_standard_normal(mean: Float[Array, " M"], chol: Float[Array, "M M"]) -> Float[Array, ""]:
    """KL[N(mean, chol chol') || N(0, I)]."""
    log_det = jnp.sum(jnp.log(jnp.abs(jnp.diagonal(chol))))
    return 0.5 * (jnp.sum(chol**2) + jnp.sum(mean**2) - mean.shape[0]) - log_det
