"""A compiled run of gradient steps."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jax import lax
from jaxtyping import Array, Bool, Float, Key, PRNGKeyArray, PyTree

from gpssm._history import Trace
from gpssm.data import Padded
from gpssm.fit._batches import AbstractBatches
from gpssm.fit._problem import Problem, Tree


class TrainState(eqx.Module):
    """Everything that a step changes."""

    tree: Tree
    optimiser_state: PyTree
    rate_scale: Float[Array, ""]
    """Factor on the learning rate; halved when a run of steps had to be undone."""


@eqx.filter_jit
def run_steps(
    problem: Problem,
    optimiser: Any,
    batches: AbstractBatches,
    data: Padded,
    state: TrainState,
    keys: Key[Array, " S"],
) -> tuple[TrainState, Trace, Bool[Array, ""]]:
    """One step for each key. Also says whether all bounds and parameters stayed finite."""
    arrays, static = eqx.partition(state, eqx.is_array)

    def body(carry: PyTree, key: PRNGKeyArray) -> tuple[PyTree, Trace]:
        after, trace = _one_step(problem, optimiser, batches, data, eqx.combine(carry, static), key)
        return eqx.filter(after, eqx.is_array), trace

    arrays, trace = lax.scan(body, arrays, keys)
    after = eqx.combine(arrays, static)
    leaves = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(eqx.filter(after.tree, eqx.is_inexact_array))]
    return after, trace, jnp.all(jnp.stack(leaves)) & jnp.all(jnp.isfinite(trace.total))


def _one_step(
    problem: Problem, optimiser: Any, batches: AbstractBatches, data: Padded, state: TrainState, key: PRNGKeyArray
) -> tuple[TrainState, Trace]:
    batch_key, bound_key = jr.split(key)
    batch = batches.draw(data, key=batch_key)
    trained, held = problem.split(state.tree)
    value_and_grad = eqx.filter_value_and_grad(problem.loss, has_aux=True)
    (_, (bound, transitions)), gradients = value_and_grad(trained, held, batch, bound_key)
    updates, optimiser_state = optimiser.update(gradients, state.optimiser_state, trained)
    updates = jax.tree.map(lambda update: state.rate_scale.astype(update.dtype) * update, updates)
    model, inference = eqx.combine(eqx.apply_updates(trained, updates), held)
    transition = inference.inducing.after_step(model.transition, transitions)
    model = eqx.tree_at(lambda m: m.transition, model, transition)
    trace = Trace(
        terms=bound.terms(),
        total=bound.total(),
        process_noise=model.transition.noise_variance(),
        measurement_noise=model.emission.noise_variance(),
        gradient_norm=optax.tree.norm(gradients),
        jitter=bound.jitter,
    )
    return TrainState((model, inference), optimiser_state, state.rate_scale), trace
