"""Exact moments of sines and cosines of Gaussian angles, and of the bounded control signal built from sines."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm.control._moments import Gaussian, Moments


def sine_cosine_moments(given: Gaussian, angles: Sequence[int]) -> Moments:
    """Moments of (sin a0, cos a0, sin a1, cos a1, ...) for the variables of `given` listed in `angles`."""
    chosen = np.asarray(angles, dtype=int)
    # cos(a) = sin(a + pi/2), so that one rule for sines serves both.
    picked = np.repeat(chosen, 2)
    phase = jnp.asarray(np.tile([0.0, np.pi / 2], len(chosen)), given.mean.dtype)
    shifted = Gaussian(given.mean[picked] + phase, given.cov[picked][:, picked])
    mean, cov, slope = _sine_moments(shifted)
    unit = jnp.eye(len(given.mean), dtype=given.mean.dtype)[:, picked]
    return Moments(mean, cov, unit * slope[None, :])


def squash(v: Float[Array, " P"], limit: float) -> Float[Array, " P"]:
    """limit (9 sin v + sin 3v) / 8: bounded, nearly linear around zero, flat where the bound is reached."""
    return limit * (9.0 * jnp.sin(v) + jnp.sin(3.0 * v)) / 8.0


def squash_moments(given: Gaussian, limit: float) -> Moments:
    """Moments of `squash(v, limit)`."""
    count = len(given.mean)
    unit = np.eye(count)
    stretch = jnp.asarray(np.concatenate([unit, 3.0 * unit]), given.mean.dtype)
    weight = jnp.asarray(limit / 8.0 * np.concatenate([9.0 * unit, unit]), given.mean.dtype)
    mean, cov, slope = _sine_moments(Gaussian(stretch @ given.mean, stretch @ given.cov @ stretch.T))
    return Moments(weight.T @ mean, weight.T @ cov @ weight, stretch.T @ (slope[:, None] * weight))


def _sine_moments(given: Gaussian) -> tuple[Float[Array, " D"], Float[Array, "D D"], Float[Array, " D"]]:
    """Mean and covariance of sin(a), and the mean of its derivative cos(a), for every variable a."""
    variance = jnp.diagonal(given.cov)
    shrink = jnp.exp(-variance / 2.0)
    mean, slope = shrink * jnp.sin(given.mean), shrink * jnp.cos(given.mean)
    total = (variance[:, None] + variance[None, :]) / 2.0
    difference, addition = given.mean[:, None] - given.mean[None, :], given.mean[:, None] + given.mean[None, :]
    # E[sin a sin b] - E[sin a] E[sin b]
    lowered = _scaled_expm1(given.cov, total) * jnp.cos(difference)
    raised = _scaled_expm1(-given.cov, total) * jnp.cos(addition)
    return mean, (lowered - raised) / 2.0, slope


def _scaled_expm1(c: Float[Array, "D D"], total: Float[Array, "D D"]) -> Float[Array, "D D"]:
    """exp(-total) (exp(c) - 1) for c <= total: no cancellation for small c and no overflow for large c."""
    positive = c > 0
    # Each branch sees only arguments at which it is finite; otherwise the unused one would spoil the gradient.
    above, below = jnp.where(positive, c, 0.0), jnp.where(positive, 0.0, c)
    return jnp.where(positive, -jnp.exp(above - total) * jnp.expm1(-above), jnp.exp(-total) * jnp.expm1(below))
