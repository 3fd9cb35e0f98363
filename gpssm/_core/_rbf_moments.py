"""Expectations of squared-exponential kernels, and of products of two, over a Gaussian point: closed forms."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm._core._elimination import inverse_and_logdet


def expected_kernels(
    offsets: Float[Array, "E N D"],
    scales: Float[Array, "E D"],
    log_factors: Float[Array, "E N"],
    covariance: Float[Array, "D D"],
) -> tuple[Float[Array, "E N"], Float[Array, "E N D"]]:
    """E k_e(z, z_n) and their expected slopes in z, over them: E (d k_e / d z) = slope E k_e.

    k_e = exp(log_factors - |(z - z_n) / scales|^2 / 2), z ~ N(m, covariance), and `offsets` are z_n - m.
    """
    inverse_scales = 1.0 / scales
    scaled = offsets * inverse_scales[:, None, :]
    inverse, log_det = inverse_and_logdet(_stretched(inverse_scales, covariance))
    turned = scaled @ inverse
    expected = jnp.exp((log_factors - log_det[:, None] / 2.0) - (turned * scaled).sum(2) / 2.0)
    return expected, inverse_scales[:, None, :] * turned


def expected_products(
    offsets: Float[Array, "E N D"],
    scales: Float[Array, "E D"],
    log_factors: Float[Array, "E N"],
    covariance: Float[Array, "D D"],
    first: np.ndarray,
    second: np.ndarray,
) -> Float[Array, "Q N N"]:
    """E k_a(z, z_n) k_b(z, z_m) for each pair of kernels (a, b) = (first, second)."""
    squares = (1.0 / scales) ** 2
    log_kernels = log_factors - ((offsets / scales[:, None, :]) ** 2).sum(2) / 2.0
    root = jnp.sqrt(squares[first] + squares[second])
    inverse, log_det = inverse_and_logdet(_stretched(root, covariance))
    middle = jnp.eye(root.shape[-1], dtype=root.dtype)[None] - inverse
    left = offsets[first] * (squares[first] / root)[:, None, :]
    right = offsets[second] * (squares[second] / root)[:, None, :]
    left_turned, right_turned = left @ middle, right @ middle
    left_log = log_kernels[first] + (left_turned * left).sum(2) / 2.0 - log_det[:, None] / 2.0
    right_log = log_kernels[second] + (right_turned * right).sum(2) / 2.0
    return jnp.exp(left_log[:, :, None] + right_log[:, None, :] + left_turned @ jnp.swapaxes(right, 1, 2))


def _stretched(root: Float[Array, "Q D"], covariance: Float[Array, "D D"]) -> Float[Array, "Q D D"]:
    unit = jnp.eye(root.shape[-1], dtype=root.dtype)[None]
    return unit + root[:, :, None] * covariance[None] * root[:, None, :]
