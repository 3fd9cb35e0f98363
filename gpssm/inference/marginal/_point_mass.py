"""The evidence of one episode for a given function with one state, without taking its beliefs for Gaussian."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from gpssm._core._gaussian import expected_log_normal
from gpssm.inference.marginal._filter import Belief, measured
from gpssm.inference.marginal._function import GivenFunction
from gpssm.models import AbstractEmission, Batch

NOTHING = -1e3
"""Logarithm of a weight that counts for nothing."""


class PointMass(eqx.Module):
    """A filter that carries the density of a single state on a grid which follows it.

    Where a state is uncertain on the scale on which the function bends, a Gaussian filter is wrong about what it has
    seen, and training goes where it is too optimistic. In one dimension the integrals can be done instead: the cost of
    a step is the square of the number of points.
    """

    points: int = eqx.field(static=True, default=128)
    width: float = eqx.field(static=True, default=8.0)
    """Standard deviations of a Gaussian filter's belief to either side that the grid covers. After an outlier the state
    may well be five of them away."""

    def __check_init__(self) -> None:
        if self.points < 16:
            raise ValueError(f"points={self.points}: a density needs at least 16")

    def log_evidence(
        self,
        function: GivenFunction,
        noise: Float[Array, " D"],
        emission: AbstractEmission,
        episode: Batch,
        *,
        fitc: bool,
    ) -> Float[Array, ""]:
        """log p(y | f) of an episode, from x[0] ~ N(0, 1)."""
        dtype = noise.dtype
        units = jnp.linspace(-self.width, self.width, self.points, dtype=dtype)
        empty = jnp.zeros((1, 1, 0), dtype)

        def step(carry: tuple[Array, ...], now: tuple[Array, ...]) -> tuple[tuple[Array, ...], Array]:
            log_weights, images, spreads, mean, variance = carry
            y, u, observed, goes_on = now
            # The grid lies where a Gaussian filter would expect the state, this measurement included.
            about, _ = measured(Belief(mean[None], variance[None, None], empty), emission, y, observed)
            scale = jnp.sqrt(about.covariance[0, 0])
            x, cell = about.mean[0] + scale * units, scale * (units[1] - units[0])
            reached = expected_log_normal((x[:, None] - images[None, :]) ** 2, spreads[None, :])
            seen = jax.vmap(lambda point: jnp.sum(jnp.where(observed, emission.log_prob(y, point[None]), 0.0)))(x)
            log_mass = logsumexp(log_weights[None, :] + reached, axis=1) + seen + jnp.log(cell)
            mass = logsumexp(log_mass)
            moved = self._moved(function, noise[0], log_mass - mass, x, u, fitc)
            held = tuple(jnp.where(goes_on, after, before) for after, before in zip(moved, carry, strict=True))
            # Where nothing was seen it is one, but for what the grid leaves out.
            return held, jnp.where(jnp.any(observed), mass, 0.0)

        # x[0] ~ N(0, 1) as if it had come from one point.
        first = jnp.where(jnp.arange(self.points) == 0, 0.0, NOTHING).astype(dtype)
        zeros, one = jnp.zeros(self.points, dtype), jnp.ones((), dtype)
        start = (first, zeros, zeros + 1.0, 0.0 * one, one)
        goes_on = jnp.concatenate([episode.valid[1:], jnp.zeros(1, bool)])
        log_probs = lax.scan(step, start, (episode.y, episode.u, episode.observed, goes_on))[1]
        return jnp.sum(jnp.where(episode.valid, log_probs, 0.0))

    def _moved(
        self,
        function: GivenFunction,
        noise: Float[Array, ""],
        log_weights: Float[Array, " G"],
        x: Float[Array, " G"],
        u: Float[Array, " P"],
        fitc: bool,
    ) -> tuple[Array, ...]:
        images = function(x[:, None], u)[0][:, 0]
        spreads = jnp.full_like(x, 1.0) * noise
        if fitc:
            spreads = spreads + jax.vmap(lambda point: function.unexplained(point[None], u)[0])(x)
        weights = jnp.exp(log_weights)
        mean = weights @ images
        variance = weights @ ((images - mean) ** 2 + spreads)
        # A point stands for its cell, which the function stretches; otherwise steep functions would leave gaps. And
        # images that are far apart for their spread would make a density of ripples, which the next grid, with nearly
        # the same distances, sees at their tops.
        apart = jnp.asarray(jnp.gradient(images)) ** 2
        return log_weights, images, jnp.maximum(spreads + apart / 12.0, apart / 2.0), mean, variance
