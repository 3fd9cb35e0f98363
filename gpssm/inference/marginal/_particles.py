"""The evidence of one episode for a given function by particles: unbiased, noisy, and the judge of Gaussian filters."""

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm._core._gaussian import LOG_2PI, expected_log_normal, matvec
from gpssm.inference.marginal._filter import Belief, measured, state_factor
from gpssm.inference.marginal._function import GivenFunction
from gpssm.models import AbstractEmission, Batch


def particle_log_evidence(
    function: GivenFunction,
    noise: Float[Array, " D"],
    emission: AbstractEmission,
    episode: Batch,
    *,
    fitc: bool,
    count: int,
    key: PRNGKeyArray,
) -> Float[Array, ""]:
    """log p(y | f) of an episode, from x[0] ~ N(0, I).

    Each particle looks at the measurement before it moves: it is proposed from the Gaussian that its own step and the
    (linearised) measurement make, which for a linear emission is the best there is. Particles that move blindly miss
    exact sensors.
    """
    dims, dtype = noise.shape[0], noise.dtype
    empty = jnp.zeros((dims, dims, 0), dtype)

    def one(expected: Array, spread: Array, y: Array, observed: Array, key: PRNGKeyArray) -> tuple[Array, Array]:
        about, _ = measured(Belief(expected, jnp.diag(spread), empty), emission, y, observed)
        chol = state_factor(about.covariance)
        unit = jr.normal(key, (dims,), dtype)
        x = about.mean + matvec(chol, unit)
        proposed = -0.5 * (dims * LOG_2PI + jnp.sum(unit**2)) - jnp.sum(jnp.log(jnp.diagonal(chol)))
        moved = jnp.sum(expected_log_normal((x - expected) ** 2, spread))
        seen = jnp.sum(jnp.where(observed, emission.log_prob(y, x), 0.0))
        return x, moved + seen - proposed

    def step(carry: tuple[Array, Array], now: tuple[Array, ...]) -> tuple[tuple[Array, Array], Array]:
        expected, spreads = carry
        y, u, observed, goes_on, key = now
        move_key, choice_key = jr.split(key)
        keys = jr.split(move_key, count)
        x, log_weights = jax.vmap(one, in_axes=(0, 0, None, None, 0))(expected, spreads, y, observed, keys)
        log_prob = logsumexp(log_weights) - jnp.log(float(count))
        chosen = x[_systematic(log_weights, choice_key)]
        images = function(chosen, u)[0]
        after = jnp.broadcast_to(noise, images.shape)
        if fitc:
            after = after + jax.vmap(lambda point: function.unexplained(point, u))(chosen)
        return (jnp.where(goes_on, images, expected), jnp.where(goes_on, after, spreads)), log_prob

    start = jnp.zeros((count, dims), dtype), jnp.ones((count, dims), dtype)
    goes_on = jnp.concatenate([episode.valid[1:], jnp.zeros(1, bool)])
    keys = jr.split(key, episode.y.shape[0])
    log_probs = lax.scan(step, start, (episode.y, episode.u, episode.observed, goes_on, keys))[1]
    return jnp.sum(jnp.where(episode.valid, log_probs, 0.0))


def _systematic(log_weights: Float[Array, " N"], key: PRNGKeyArray) -> Array:
    count = log_weights.shape[0]
    places = (jr.uniform(key, (), log_weights.dtype) + jnp.arange(count)) / count
    return jnp.clip(jnp.searchsorted(jnp.cumsum(jax.nn.softmax(log_weights)), places), 0, count - 1)
