"""A compiled run of gradient steps."""

from collections.abc import Hashable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jax import lax
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float, Key, PRNGKeyArray, PyTree, UInt

from gpssm._core._compile import compile_soon, compile_well
from gpssm._core._devices import Devices, here, shard_map_over_episodes, share_of
from gpssm._core._history import Trace
from gpssm._core._sharding import EPISODES, AbstractShare
from gpssm.fitting._batches import AbstractBatches
from gpssm.fitting._problem import Problem, Tree
from gpssm.models._batch import Batch

MUCH_TRAINING = 1_000_000
"""Time steps of episodes, counted anew in each training step, from which on the fast program is worth waiting for. With
480 of them in a step (two states, 30 inducing points) the two are level after 6000 steps, 3 million in all."""


class TrainState(eqx.Module):
    """Everything that a step changes."""

    tree: Tree
    optimiser_state: PyTree
    rate_scale: Float[Array, ""]
    """Factor on the learning rate; halved when a run of steps had to be undone."""


def run_steps(
    problem: Problem,
    optimiser: Any,
    batches: AbstractBatches,
    data: Batch,
    state: TrainState,
    keys: Key[Array, " S"],
    devices: Devices | None = None,
    *,
    planned: int | None = None,
) -> tuple[TrainState, Trace, Bool[Array, ""]]:
    """One step for each key. Also says whether all bounds and parameters stayed finite.

    On several devices, `data` are spread over them already if batches are full, and copied to all of them otherwise.
    If few steps are `planned`, the program is compiled soon rather than well. All runs of one training are made by the
    same program, so that it has the same bits wherever it was broken off.
    """
    # A step that draws its batches belongs to long records.
    few = planned is not None and batches.is_full() and planned * data.valid.size < MUCH_TRAINING
    program = soon_compiled_steps if few else compiled_steps
    numbers = jr.key_data(keys)
    if devices is None:
        return program(problem, optimiser, batches, data, state, numbers, jr.key_impl(keys), None)
    problem, state, numbers = devices.copy((problem, state, numbers))
    return here(program(problem, optimiser, batches, data, state, numbers, jr.key_impl(keys), devices))


def _all_steps(
    problem: Problem,
    optimiser: Any,
    batches: AbstractBatches,
    data: Batch,
    state: TrainState,
    numbers: UInt[Array, "S K"],
    key_impl: Hashable,
    devices: Devices | None,
) -> tuple[TrainState, Trace, Bool[Array, ""]]:
    """The steps as one compiled program, which all devices run."""
    arrays, static = eqx.partition((problem, state), eqx.is_array)

    def all_steps(arrays: PyTree, data: Batch, numbers: UInt[Array, "S K"]) -> tuple[PyTree, Trace, Bool[Array, ""]]:
        problem, state = eqx.combine(arrays, static)
        after, trace, finite = take_steps(
            problem, optimiser, batches, data, state, jr.wrap_key_data(numbers, impl=key_impl), share_of(devices)
        )
        return eqx.filter(after, eqx.is_array), trace, finite

    everywhere = PartitionSpec()
    specs = (everywhere, PartitionSpec(EPISODES) if batches.is_full() else everywhere, everywhere)
    after, trace, finite = shard_map_over_episodes(devices, all_steps, specs)(arrays, data, numbers)
    return eqx.combine(after, static[1]), trace, finite


compiled_steps = compile_well(_all_steps)
soon_compiled_steps = compile_soon(_all_steps)


def take_steps(
    problem: Problem,
    optimiser: Any,
    batches: AbstractBatches,
    data: Batch,
    state: TrainState,
    keys: Key[Array, " S"],
    share: AbstractShare,
) -> tuple[TrainState, Trace, Bool[Array, ""]]:
    """The steps of one place: the only one, or one of several devices."""
    arrays, static = eqx.partition(state, eqx.is_array)

    def body(carry: PyTree, key: PRNGKeyArray) -> tuple[PyTree, Trace]:
        after, trace = _one_step(problem, optimiser, batches, data, eqx.combine(carry, static), key, share)
        return eqx.filter(after, eqx.is_array), trace

    arrays, trace = lax.scan(body, arrays, keys)
    after = eqx.combine(arrays, static)
    leaves = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(eqx.filter(after.tree, eqx.is_inexact_array))]
    return after, trace, jnp.all(jnp.stack(leaves)) & jnp.all(jnp.isfinite(trace.total))


def _one_step(
    problem: Problem,
    optimiser: Any,
    batches: AbstractBatches,
    data: Batch,
    state: TrainState,
    key: PRNGKeyArray,
    share: AbstractShare,
) -> tuple[TrainState, Trace]:
    batch_key, bound_key = jr.split(key)
    batch = batches.draw(data, key=batch_key)
    # Full batches lie where they are needed; of others, all devices draw the same and take their part.
    batch = batch if batches.is_full() else share.part(batch)
    trained, held = problem.split(state.tree)
    bound, gradients, told = problem.gradients(trained, held, batch, bound_key, share)
    updates, optimiser_state = optimiser.update(gradients, state.optimiser_state, trained)
    updates = jax.tree.map(lambda update: state.rate_scale.astype(update.dtype) * update, updates)
    model, inference = eqx.combine(eqx.apply_updates(trained, updates), held)
    model = inference.after_step(model, told, share=share)
    trace = Trace(
        terms=bound.terms(),
        total=bound.total(),
        process_noise=model.transition.noise_variance(),
        measurement_noise=model.emission.noise_variance(),
        gradient_norm=optax.tree.norm(gradients),
        jitter=bound.jitter,
    )
    return TrainState((model, inference), optimiser_state, state.rate_scale), trace
