"""Paths in coordinates in which they hardly depend on the noises.

Given its states, a chain knows the process noise to a few per cent, and would need hundreds of sweeps to get anywhere
else. Here a path is told by what it has beyond what the measurements and the function say of it: moving a noise with
these coordinates held moves the path along, as a smoother would.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from gpssm._core._gaussian import LOG_2PI, expected_log_normal, matmul, matvec
from gpssm._core._linalg import small_cholesky
from gpssm.inference.marginal import GivenFunction
from gpssm.inference.marginal._carry import small_inverse
from gpssm.models import AbstractEmission, Batch


class Tangents(NamedTuple):
    """Transition and emission as straight lines, along a path that is held: x' = slopes x + offsets, and likewise
    y."""

    slopes: Float[Array, "T D D"]
    offsets: Float[Array, "T D"]
    output_slopes: Float[Array, "T O D"]
    output_offsets: Float[Array, "T O"]


class Messages(NamedTuple):
    """What the outputs from a step on tell of its state: exp(-x' precision x / 2 + shift' x), about."""

    precision: Float[Array, "T D D"]
    shift: Float[Array, "T D"]


def tangents_along(
    function: GivenFunction, emission: AbstractEmission, episode: Batch, path: Float[Array, "T D"]
) -> Tangents:
    """Lines through the function and the emission at each state of the path."""

    def image(x: Array, u: Array) -> Array:
        return function(x[None], u)[0][0]

    slopes = jax.vmap(jax.jacfwd(image))(path, episode.u)
    offsets = jax.vmap(image)(path, episode.u) - matvec(slopes, path)
    output_slopes = jax.vmap(jax.jacfwd(emission.mean))(path)
    return Tangents(slopes, offsets, output_slopes, emission.mean(path) - matvec(output_slopes, path))


def messages(tangents: Tangents, process: Float[Array, " D"], noise: Float[Array, " O"], episode: Batch) -> Messages:
    """By the backward information filter of the lines."""
    weights = jnp.where(episode.observed, 1.0 / noise[None, :], 0.0)
    residuals = weights * (episode.y - tangents.output_offsets)
    own = jnp.sum(weights[:, :, None, None] * _outer(tangents.output_slopes), axis=1)
    own_shift = jnp.sum(residuals[:, :, None] * tangents.output_slopes, axis=1)
    goes_on = jnp.concatenate([episode.valid[1:], jnp.zeros(1, bool)])

    def body(after: Messages, now: tuple[Array, ...]) -> tuple[Messages, Messages]:
        slope, offset, precision, shift, goes_on = now
        # (I + precision Q)^-1, which is near one where the process noise is small.
        root = jnp.sqrt(process)
        inverse = small_inverse(_chol(after.precision, root))
        kept = (matmul(inverse.T, inverse) * root[None, :]) / root[:, None]
        told = matmul(slope.T, matmul(matmul(kept, after.precision), slope))
        told_shift = matvec(slope.T, matvec(kept, after.shift - matvec(after.precision, offset)))
        found = Messages(
            precision + jnp.where(goes_on, 0.5 * (told + told.T), 0.0), shift + jnp.where(goes_on, told_shift, 0.0)
        )
        return found, found

    dims = process.shape[0]
    end = Messages(jnp.zeros((dims, dims), process.dtype), jnp.zeros(dims, process.dtype))
    return lax.scan(body, end, (tangents.slopes, tangents.offsets, own, own_shift, goes_on), reverse=True)[1]


def whiten(
    function: GivenFunction,
    process: Float[Array, " D"],
    told: Messages,
    episode: Batch,
    path: Float[Array, "T D"],
    *,
    fitc: bool,
) -> Float[Array, "T D"]:
    """The coordinates of a path."""

    def one(expected: Array, spread: Array, precision: Array, shift: Array, x: Array) -> Array:
        mean, root = _conditional(expected, spread, precision, shift)[0], jnp.sqrt(spread)
        return matvec(_chol(precision, root).T, (x - mean) / root)

    expected, spreads = _expected(function, process, episode, path, fitc)
    return jax.vmap(one)(expected, spreads, *told, path)


def unwhiten(
    function: GivenFunction,
    process: Float[Array, " D"],
    emission: AbstractEmission,
    told: Messages,
    episode: Batch,
    whitened: Float[Array, "T D"],
    *,
    fitc: bool,
) -> tuple[Float[Array, "T D"], Float[Array, ""]]:
    """The path of given coordinates, and log p(y, x | f) with the volume that the change of coordinates takes."""
    dims = process.shape[0]

    def step(carry: tuple[Array, Array], now: tuple[Array, ...]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        expected, spread = carry
        y, u, observed, valid, precision, shift, unit = now
        mean, root, volume = _conditional(expected, spread, precision, shift)
        # After the end of the record nothing may grow.
        x = jnp.where(valid, mean + matvec(root, unit), 0.0)
        seen = jnp.sum(jnp.where(observed, emission.log_prob(y, x), 0.0))
        log_prob = jnp.sum(expected_log_normal((x - expected) ** 2, spread)) + volume + seen
        spread = process + function.unexplained(x, u) if fitc else process
        return (function(x[None], u)[0][0], spread), (x, jnp.where(valid, log_prob, 0.0))

    start = jnp.zeros(dims, process.dtype), jnp.ones(dims, process.dtype)
    rows = (episode.y, episode.u, episode.observed, episode.valid, *told, whitened)
    path, log_probs = lax.scan(step, start, rows)[1]
    # The coordinates' own density is constant; with it the value is near the log-evidence, whatever the path.
    own = jnp.where(episode.valid[:, None], LOG_2PI + whitened**2, 0.0)
    return path, jnp.sum(log_probs) + 0.5 * jnp.sum(own)


def _expected(
    function: GivenFunction, process: Array, episode: Batch, path: Array, fitc: bool
) -> tuple[Float[Array, "T D"], Float[Array, "T D"]]:
    """Where each state is expected from the one before, and its variances; x[0] ~ N(0, I)."""
    images = jax.vmap(lambda x, u: function(x[None], u)[0][0])(path[:-1], episode.u[:-1])
    spreads = jnp.broadcast_to(process, images.shape)
    if fitc:
        spreads = spreads + jax.vmap(function.unexplained)(path[:-1], episode.u[:-1])
    zero = jnp.zeros_like(path[:1])
    return jnp.concatenate([zero, images]), jnp.concatenate([zero + 1.0, spreads])


def _conditional(expected: Array, spread: Array, precision: Array, shift: Array) -> tuple[Array, Array, Array]:
    """N(expected, spread) times a message: mean, a root of the covariance, and the log of its determinant."""
    root = jnp.sqrt(spread)
    chol = _chol(precision, root)
    factor = root[:, None] * small_inverse(chol).T
    mean = expected + matvec(matmul(factor, factor.T), shift - matvec(precision, expected))
    return mean, factor, jnp.sum(jnp.log(root)) - jnp.sum(jnp.log(jnp.diagonal(chol)))


def _chol(precision: Float[Array, "D D"], root: Float[Array, " D"]) -> Float[Array, "D D"]:
    """Of I + Q^1/2 precision Q^1/2."""
    eye = jnp.eye(root.shape[0], dtype=root.dtype)
    return small_cholesky(eye + root[:, None] * precision * root[None, :])


def _outer(rows: Float[Array, "*B D"]) -> Float[Array, "*B D D"]:
    return rows[..., :, None] * rows[..., None, :]
