"""The saturating cost and its expectation."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm._core._elimination import inverse_and_logdet
from gpssm.control._moments import Gaussian


def saturating_cost(point: Float[Array, "... D"], target: Float[Array, " D"], width: float) -> Float[Array, "..."]:
    """1 - exp(-d^2 / (2 width^2)) with d the distance to the target: 0 at the target, 1 far away."""
    squared = ((point - jnp.broadcast_to(target, point.shape)) ** 2).sum(-1)
    return 1.0 - jnp.exp(-squared / (2.0 * width**2))


def expected_saturating_cost(point: Gaussian, target: Float[Array, " D"], width: float) -> Float[Array, ""]:
    """The expectation of `saturating_cost` for a Gaussian point."""
    error = (point.mean - target) / width
    unit = jnp.eye(len(error), dtype=error.dtype)
    inverse, logdet = inverse_and_logdet((unit + point.cov / width**2)[None])
    return 1.0 - jnp.exp(-(error @ inverse[0] @ error + logdet[0]) / 2.0)
