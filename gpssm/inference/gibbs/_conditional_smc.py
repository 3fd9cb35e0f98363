"""A new path of the states given an old one: conditional sequential Monte Carlo with ancestor sampling."""

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from gpssm._core._gaussian import LOG_2PI, expected_log_normal, matvec
from gpssm.inference.marginal import Belief, GivenFunction, measured, state_factor
from gpssm.models import AbstractEmission, Batch


def conditional_smc(
    function: GivenFunction,
    noise: Float[Array, " D"],
    emission: AbstractEmission,
    episode: Batch,
    path: Float[Array, "T D"],
    *,
    particles: int,
    fitc: bool,
    key: PRNGKeyArray,
) -> Float[Array, "T D"]:
    """One step of a Markov chain over paths of an episode, which leaves p(x | f, y) as it is.

    The last particle follows the old path; at each step it is asked from which of the others that path might have come
    (ancestor sampling), so that also long paths change everywhere. Particles look at the measurement before they move:
    they are proposed from the Gaussian that their own step and the (linearised) measurement make.
    """
    dims, dtype = noise.shape[0], noise.dtype
    empty, last = jnp.zeros((dims, dims, 0), dtype), particles - 1

    def proposed(expected: Array, spread: Array, y: Array, observed: Array) -> tuple[Array, Array]:
        about, _ = measured(Belief(expected, jnp.diag(spread), empty), emission, y, observed)
        return about.mean, state_factor(about.covariance)

    def moved(
        expected: Array, spread: Array, now: tuple[Array, ...], unit: Float[Array, "N D"]
    ) -> tuple[Float[Array, "N D"], Float[Array, " N"]]:
        """Particles and their weights; `spread` is one for all of them without FITC."""
        y, observed, old = now
        means, chols = jax.vmap(proposed, in_axes=(0, 0 if spread.ndim == 2 else None, None, None))(
            expected, spread, y, observed
        )
        x = (means + matvec(chols, unit)).at[last].set(old)
        # What the old state would have been drawn with.
        away = x[last] - means[last]
        unit = unit.at[last].set(_solve(chols[last], away))
        density = -0.5 * (dims * LOG_2PI + jnp.sum(unit**2, axis=1))
        density = density - jnp.sum(jnp.log(jnp.diagonal(chols, axis1=1, axis2=2)), axis=1)
        transition = jnp.sum(expected_log_normal((x - expected) ** 2, jnp.broadcast_to(spread, x.shape)), axis=1)
        log_prob = jax.vmap(emission.log_prob, in_axes=(None, 0))(y, x)
        return x, transition + jnp.sum(jnp.where(observed[None], log_prob, 0.0), axis=1) - density

    def step(
        carry: tuple[Array, Array, Array], now: tuple[Array, ...]
    ) -> tuple[tuple[Array, Array, Array], tuple[Array, Array]]:
        x, log_weights, u = carry
        y, next_u, observed, valid, old, unit, place = now
        images = function(x, u)[0]
        spread = noise
        if fitc:
            spread = noise[None, :] + jax.vmap(lambda point: function.unexplained(point, u))(x)
        towards = jnp.sum(expected_log_normal((old[None, :] - images) ** 2, jnp.broadcast_to(spread, x.shape)), axis=1)
        ancestors = _chosen(log_weights, place).at[last].set(_chosen(log_weights + towards, place[last:])[0])
        new, weights = moved(images[ancestors], spread[ancestors] if fitc else spread, (y, observed, old), unit)
        # After the end of the record everything stays as it is.
        kept = (jnp.where(valid, new, x), jnp.where(valid, weights, log_weights), next_u)
        return kept, (kept[0], jnp.where(valid, ancestors, jnp.arange(particles)))

    unit_key, place_key, end_key = jr.split(key, 3)
    length = path.shape[0]
    units = jr.normal(unit_key, (length, particles, dims), dtype)
    places = jr.uniform(place_key, (length, particles), dtype)
    start = jnp.zeros((particles, dims), dtype), jnp.ones(dims, dtype)
    if fitc:
        start = start[0], jnp.ones((particles, dims), dtype)
    x, log_weights = moved(*start, (episode.y[0], episode.observed[0], path[0]), units[0])
    rows = (episode.y, episode.u, episode.observed, episode.valid, path, units, places)
    (_, log_weights, _), (drawn, ancestors) = lax.scan(
        step, (x, log_weights, episode.u[0]), jax.tree.map(lambda part: part[1:], rows)
    )

    def back(index: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        x, ancestor = now
        return ancestor[index], x[index]

    end = _chosen(log_weights, jr.uniform(end_key, (1,), dtype))[0]
    first, rest = lax.scan(back, end, (drawn, ancestors), reverse=True)
    return jnp.concatenate([x[first][None], rest])


def _chosen(log_weights: Float[Array, " N"], places: Float[Array, " K"]) -> Int[Array, " K"]:
    """Indices drawn in proportion to the weights, by the inverse of their distribution function."""
    cumulated = jnp.cumsum(jax.nn.softmax(log_weights))
    # Rounding may leave their sum below one: then a last particle without any weight could be chosen.
    index = jnp.sum(places[:, None] * cumulated[-1] > cumulated[None, :], axis=1)
    return jnp.minimum(index, log_weights.shape[0] - 1)


def _solve(chol: Float[Array, "D D"], vector: Float[Array, " D"]) -> Float[Array, " D"]:
    """Forward substitution, written out over the few states."""
    found: list[Array] = []
    for i in range(vector.shape[0]):
        found.append((vector[i] - sum((chol[i, j] * part for j, part in enumerate(found)), 0.0)) / chol[i, i])
    return jnp.stack(found)
