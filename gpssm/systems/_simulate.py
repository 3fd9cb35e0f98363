"""Random excitation of a continuous-time system, and single steps for closed-loop use."""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.data import Episodes
from gpssm.systems._base import AbstractContinuousSystem, Simulated


def step(
    system: AbstractContinuousSystem, state: Float[np.ndarray, " D"], action: Float[np.ndarray, " P"]
) -> Float[np.ndarray, " D"]:
    """The state one sampling interval later, in double precision and without process noise."""
    with jax.enable_x64(True):
        following = _step(system, jnp.asarray(state, jnp.float64), jnp.asarray(action, jnp.float64))
        return np.asarray(following)


@partial(jax.jit, static_argnums=0)
def _step(
    system: AbstractContinuousSystem, state: Float[Array, " D"], action: Float[Array, " P"]
) -> Float[Array, " D"]:
    return system.integrator.advance(system.derivative, state, action, system.dt)


def trajectory(
    system: AbstractContinuousSystem, initial: Float[np.ndarray, " D"], actions: Float[np.ndarray, "T P"]
) -> Float[np.ndarray, "T D"]:
    """Noise-free states from `initial` under recorded actions; `actions[t]` moves row t to row t + 1."""
    with jax.enable_x64(True):
        start = jnp.asarray(initial, jnp.float64)
        held = jnp.asarray(actions, jnp.float64)
        return np.asarray(_trajectory(system, start, held, jnp.zeros((len(actions), len(initial)), jnp.float64)))


@partial(jax.jit, static_argnums=0)
def _trajectory(
    system: AbstractContinuousSystem,
    initial: Float[Array, " D"],
    actions: Float[Array, "T P"],
    disturbances: Float[Array, "T D"],
) -> Float[Array, "T D"]:
    def one(x: Float[Array, " D"], given: tuple[Array, Array]) -> tuple[Array, Array]:
        action, disturbance = given
        return system.integrator.advance(system.derivative, x, action, system.dt) + disturbance, x

    return lax.scan(one, initial, (actions, disturbances))[1]


def held_actions(*, steps: int, hold: int, num_actions: int, limit: float, key: PRNGKeyArray) -> Float[Array, "T P"]:
    """Actions uniform in [-limit, limit], each kept for `hold` steps so that slow modes are excited too."""
    levels = jr.uniform(key, (-(-steps // hold), num_actions), minval=-limit, maxval=limit)
    return jnp.repeat(levels, hold, axis=0)[:steps]


def simulate(
    system: AbstractContinuousSystem,
    *,
    episodes: int,
    steps: int,
    hold: int,
    observed: Sequence[int],
    key: PRNGKeyArray,
) -> Simulated:
    """Episodes from random initial states under random piecewise-constant actions.

    `observed` lists the states that are measured, in the order of the output columns. Process noise, if the
    system has any, is added to every state once per sampling interval.
    """
    chosen = check_observed(observed, len(system.state_names))
    if min(episodes, steps, hold) < 1:
        raise ValueError(f"episodes, steps and hold must be at least 1, got {episodes}, {steps} and {hold}")
    with jax.enable_x64(True):
        states, actions, noise = _draw(system, episodes, steps, hold, key)
        states, actions, noise = np.asarray(states), np.asarray(actions), np.asarray(noise)
    outputs = states[:, :, chosen] + noise[:, :, chosen]
    return Simulated(
        episodes=Episodes.from_arrays(
            y=list(outputs),
            u=list(actions),
            dt=system.dt,
            output_names=[system.state_names[i] for i in chosen],
            input_names=system.action_names,
        ),
        states=tuple(states),
    )


def check_observed(observed: Sequence[int], num_states: int) -> list[int]:
    """The measured state indices as a list, or a complaint that names the valid ones."""
    chosen = list(observed)
    if not chosen or len(set(chosen)) != len(chosen) or not set(chosen) <= set(range(num_states)):
        raise ValueError(f"observed must hold distinct state indices in 0..{num_states - 1}, got {tuple(observed)}")
    return chosen


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _draw(
    system: AbstractContinuousSystem, episodes: int, steps: int, hold: int, key: PRNGKeyArray
) -> tuple[Float[Array, "B T D"], Float[Array, "B T P"], Float[Array, "B T D"]]:
    shape = (steps, len(system.state_names))
    mean, sd = jnp.asarray(system.initial_mean), jnp.asarray(system.initial_sd)

    def episode(key: PRNGKeyArray) -> tuple[Array, Array, Array]:
        key_start, key_action, key_process, key_noise = jr.split(key, 4)
        start = mean + sd * jr.normal(key_start, shape[1:])
        actions = held_actions(
            steps=steps, hold=hold, num_actions=len(system.action_names), limit=system.action_limit, key=key_action
        )
        disturbances = system.process_variance**0.5 * jr.normal(key_process, shape)
        states = _trajectory(system, start, actions, disturbances)
        return states, actions, system.observation_variance**0.5 * jr.normal(key_noise, shape)

    # A key per episode: asking for more episodes leaves the first ones as they were.
    keys = jax.vmap(lambda i: jr.fold_in(key, i))(jnp.arange(episodes, dtype=jnp.uint32))
    return jax.vmap(episode)(keys)
