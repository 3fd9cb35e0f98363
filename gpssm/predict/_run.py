"""The compiled parts of prediction.

They see arrays that are filled up to round sizes, so that records of similar length share them, and are compiled for
the work they have to do.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from gpssm._core._buckets import side_by_side
from gpssm._core._compile import compile_by_work, compile_for_setup
from gpssm.filters import AbstractFilter, ParticleFilter, beliefs, run_filter, run_smoother
from gpssm.inference.recognition import AbstractRecognition
from gpssm.models import GPSSM, AbstractEmission, AbstractJoint, Batch, GaussMarkov
from gpssm.models.transition import AbstractDynamics, Conditioned
from gpssm.predict._propagate import AbstractPropagation

BATCH = 256
"""Trajectories that are run side by side; more are worked through in turn, so that memory stays bounded."""
BATCH_AHEAD = 8
"""The same where each of them starts at every step of a record."""
JOINT = 1 << 20
"""The part of a trajectory's key that draws its model; the first few are those that `split` gives."""


@compile_by_work(
    lambda model, joint, means, chols, controls, propagation, with_start, count, key: count * controls.shape[0]
)
def trajectories(
    model: GPSSM,
    joint: AbstractJoint | None,
    means: Float[Array, "K D"],
    chols: Float[Array, "K D D"],
    controls: Float[Array, "S P"],
    propagation: AbstractPropagation,
    with_start: bool,
    count: int,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "K _ D"], Float[Array, "K _ O"]]:
    """Sampled states, each trajectory from N(mean, chol chol') on, the first one included if asked for, and their
    noise-free outputs."""
    dynamics = model.transition.condition()

    def one(now: tuple[PRNGKeyArray, Array, Array]) -> tuple[Array, Array]:
        sample_key, mean, chol = now
        start_key, function_key, run_key = jr.split(sample_key, 3)
        drawn = drawn_model(model, dynamics, joint, sample_key)
        start = mean + chol @ jr.normal(start_key, mean.shape, mean.dtype)
        moving = drawn.transition.condition()
        states = propagation.run(moving, start, controls, function_key=function_key, key=run_key)
        states = jnp.concatenate([start[None], states]) if with_start else states
        return states, drawn.emission.mean(states)

    return lax.map(one, (jr.split(key, count), means, chols), batch_size=side_by_side(count, BATCH))


@compile_by_work(
    lambda model, joint, means, chols, u, horizons, longest, propagation, count, key: count * means.shape[1] * longest
)
def ahead(
    model: GPSSM,
    joint: AbstractJoint | None,
    means: Float[Array, "K S D"],
    chols: Float[Array, "K S D D"],
    u: Float[Array, "T P"],
    horizons: Int[Array, " H"],
    longest: int,
    propagation: AbstractPropagation,
    count: int,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "K H S D"], Float[Array, "K H S O"]]:
    """The states so many steps, at most `longest`, after each of the given states; one function draw serves all of
    them, and one run all horizons. Row i of `u` leads away from state i; there are `longest` more of them than
    states."""
    dynamics = model.transition.condition()
    controls = u[np.arange(means.shape[1])[:, None] + np.arange(longest)[None, :]]

    def one(now: tuple[PRNGKeyArray, Array, Array]) -> tuple[Array, Array]:
        sample_key, means, chols = now
        start_key, function_key, run_key = jr.split(sample_key, 3)
        drawn = drawn_model(model, dynamics, joint, sample_key)
        moving = drawn.transition.condition()
        noise = jr.normal(start_key, means.shape, means.dtype)
        starts = means + jnp.einsum("tij,tj->ti", chols, noise)

        def reached(start: Array, row: Array, row_key: PRNGKeyArray) -> Array:
            states = propagation.run(moving, start, row, function_key=function_key, key=row_key)
            return states[horizons - 1]

        states = jax.vmap(reached, out_axes=1)(starts, controls, jr.split(run_key, starts.shape[0]))
        return states, jax.vmap(drawn.emission.mean)(states)

    return lax.map(one, (jr.split(key, count), means, chols), batch_size=side_by_side(count, BATCH_AHEAD))


@compile_by_work(lambda model, joint, y, u, observed, steps, count, key: count * y.shape[0])
def drawn_beliefs(
    model: GPSSM,
    joint: AbstractJoint,
    y: Float[Array, "T O"],
    u: Float[Array, "T P"],
    observed: Bool[Array, "T O"],
    steps: Int[Array, ""],
    count: int,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "K T D"], Float[Array, "K T D D"]]:
    """Means and factors of the states given the outputs so far, each as the model sees them that its key draws."""
    dynamics = model.transition.condition()

    def one(sample_key: PRNGKeyArray) -> tuple[Array, Array]:
        drawn = drawn_model(model, dynamics, joint, sample_key)
        return beliefs(drawn, y, u, observed, steps=steps)

    return lax.map(one, jr.split(key, count), batch_size=side_by_side(count, BATCH))


def drawn_model(
    model: GPSSM, dynamics: AbstractDynamics, joint: AbstractJoint | None, sample_key: PRNGKeyArray
) -> GPSSM:
    """The model of one trajectory: a draw that depends on its key alone, whatever else the key is used for."""
    if joint is None:
        return GPSSM(Conditioned(dynamics), model.emission, model.state_dim)
    return joint.draw(model, dynamics, key=jr.fold_in(sample_key, JOINT))


@compile_for_setup
def recognise(recognition: AbstractRecognition, episode: Batch) -> GaussMarkov:
    """q(X) of one episode."""
    return recognition.posterior(episode)


@compile_for_setup
def marginals(posterior: GaussMarkov) -> tuple[Float[Array, "T D"], Float[Array, "T D D"]]:
    """Means and factors."""
    return posterior.marginals()


@compile_by_work(lambda filter_, model, y, u, observed, steps, key: y.shape[0] * _points(filter_))
def filtered(
    filter_: AbstractFilter,
    model: GPSSM,
    y: Float[Array, "T O"],
    u: Float[Array, "T P"],
    observed: Bool[Array, "T O"],
    steps: Int[Array, ""],
    key: PRNGKeyArray,
) -> tuple[Float[Array, "T D"], Float[Array, "T D D"], Float[Array, ""]]:
    """Run a filter over one record of so many steps."""
    return run_filter(filter_, model, y, u, observed, steps=steps, key=key)


def _points(filter_: AbstractFilter) -> int:
    return filter_.num_particles if isinstance(filter_, ParticleFilter) else 1


@compile_by_work(lambda model, y, u, observed, skipped: y.shape[0])
def smoothed(
    model: GPSSM, y: Float[Array, "T O"], u: Float[Array, "T P"], observed: Bool[Array, "T O"], skipped: Int[Array, ""]
) -> tuple[Float[Array, "T D"], Float[Array, "T D D"], Float[Array, ""]]:
    """Run the extended Kalman smoother over one record, which begins after so many rows."""
    return run_smoother(model, y, u, observed, skipped=skipped)


@compile_for_setup
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


@compile_for_setup
def measured(
    emission: AbstractEmission, signals: Float[Array, "N O"], key: PRNGKeyArray
) -> tuple[Float[Array, "N O"], Float[Array, " O"]]:
    """What sensors would show, and the standard deviation of their noise."""
    return emission.sample(signals, key=key), jnp.sqrt(emission.noise_variance())
