"""The compiled parts of prediction."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from gpssm.filters import AbstractFilter, run_filter, run_smoother
from gpssm.inference.recognition import AbstractRecognition
from gpssm.models import GPSSM, AbstractEmission, Batch, GaussMarkov
from gpssm.predict._propagate import AbstractPropagation

BATCH = 256
"""Trajectories that are run side by side; more are worked through in turn, so that memory stays bounded."""


@eqx.filter_jit
def trajectories(
    model: GPSSM,
    mean: Float[Array, " D"],
    chol: Float[Array, "D D"],
    controls: Float[Array, "S P"],
    propagation: AbstractPropagation,
    num_samples: int,
    with_start: bool,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "K _ D"], Float[Array, "K _ O"]]:
    """Sampled states from N(mean, chol chol') on, the first one included if asked for, and their noise-free outputs."""
    dynamics = model.transition.condition()

    def one(sample_key: PRNGKeyArray) -> Array:
        start_key, function_key, run_key = jr.split(sample_key, 3)
        start = mean + chol @ jr.normal(start_key, mean.shape, mean.dtype)
        states = propagation.run(dynamics, start, controls, function_key=function_key, key=run_key)
        return jnp.concatenate([start[None], states]) if with_start else states

    states = lax.map(one, jr.split(key, num_samples), batch_size=min(BATCH, num_samples))
    return states, model.emission.mean(states)


@eqx.filter_jit
def ahead(
    model: GPSSM,
    means: Float[Array, "T D"],
    chols: Float[Array, "T D D"],
    u: Float[Array, "T P"],
    horizon: int,
    propagation: AbstractPropagation,
    num_samples: int,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "K S D"], Float[Array, "K S O"]]:
    """The state `horizon` steps after each of the states of a record that has as many steps left; one function draw
    serves all of them."""
    dynamics = model.transition.condition()
    count = len(u) - horizon
    means, chols = means[:count], chols[:count]
    controls = u[np.arange(count)[:, None] + np.arange(horizon)[None, :]]

    def one(sample_key: PRNGKeyArray) -> Array:
        start_key, function_key, run_key = jr.split(sample_key, 3)
        noise = jr.normal(start_key, means.shape, means.dtype)
        starts = means + jnp.einsum("tij,tj->ti", chols, noise)

        def last(start: Array, row: Array, row_key: PRNGKeyArray) -> Array:
            return propagation.run(dynamics, start, row, function_key=function_key, key=row_key)[-1]

        return jax.vmap(last)(starts, controls, jr.split(run_key, starts.shape[0]))

    states = lax.map(one, jr.split(key, num_samples), batch_size=min(8, num_samples))
    return states, model.emission.mean(states)


@eqx.filter_jit
def recognise(recognition: AbstractRecognition, episode: Batch) -> GaussMarkov:
    """q(X) of one episode."""
    return recognition.posterior(episode)


@eqx.filter_jit
def marginals(posterior: GaussMarkov) -> tuple[Float[Array, "T D"], Float[Array, "T D D"]]:
    """Means and factors."""
    return posterior.marginals()


@eqx.filter_jit
def filtered(
    filter_: AbstractFilter,
    model: GPSSM,
    y: Float[Array, "T O"],
    u: Float[Array, "T P"],
    observed: Bool[Array, "T O"],
    key: PRNGKeyArray,
):
    """Run a filter over one record."""
    return run_filter(filter_, model, y, u, observed, key=key)


@eqx.filter_jit
def smoothed(model: GPSSM, y: Float[Array, "T O"], u: Float[Array, "T P"], observed: Bool[Array, "T O"]):
    """Run the extended Kalman smoother over one record."""
    return run_smoother(model, y, u, observed)


@eqx.filter_jit
def output_moments(
    model: GPSSM, means: Float[Array, "T D"], chols: Float[Array, "T D D"]
) -> tuple[Float[Array, "T O"], Float[Array, "T O"]]:
    """Mean and standard deviation of the noise-free outputs of Gaussian states to first order (exact for a linear
    emission)."""
    emit = model.emission.mean

    def spread(mean: Array, chol: Array) -> Array:
        pushed = jax.vmap(lambda column: jax.jvp(emit, (mean,), (column,))[1], in_axes=1)(chol)
        return jnp.sqrt(jnp.sum(pushed**2, axis=0))

    return emit(means), jax.vmap(spread)(means, chols)


@eqx.filter_jit
def measured(
    emission: AbstractEmission, signals: Float[Array, "K S O"], key: PRNGKeyArray
) -> tuple[Float[Array, "K S O"], Float[Array, " O"]]:
    """What sensors would show, and the standard deviation of their noise."""
    return emission.sample(signals, key=key), jnp.sqrt(emission.noise_variance())
