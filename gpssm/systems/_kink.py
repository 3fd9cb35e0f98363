"""One-dimensional maps with a kink: the non-smooth one and its smooth relative."""

from dataclasses import dataclass
from functools import partial
from typing import final

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.data import Episodes
from gpssm.systems._base import Simulated


@final
@dataclass(frozen=True)
class Kink:
    """x[t+1] = f(x[t]) + noise with f(x) = x + 1 below 4 and 13 - 2x above; y[t] = x[t] + noise.

    Initial states are standard normal, the prior of a state-space model in these units: an episode climbs the rising
    branch once and then stays in about [2.5, 5.3], so that short episodes show both branches.
    """

    process_variance: float = 0.01
    observation_variance: float = 0.1
    initial_mean: float = 0.0
    initial_sd: float = 1.0

    def function(self, x: Float[Array | np.ndarray, "..."]) -> Float[Array, "..."]:
        """The noise-free transition, elementwise."""
        return jnp.where(x < 4.0, x + 1.0, 13.0 - 2.0 * x)

    def simulate(self, *, episodes: int = 200, steps: int = 10, key: PRNGKeyArray) -> Simulated:
        """Independent episodes, each from its own initial state."""
        return _simulate(self, episodes=episodes, steps=steps, key=key)


@final
@dataclass(frozen=True)
class SmoothKink:
    """x[t+1] = f(x[t]) + noise with f(x) = 0.8 + (x + 0.2)(1 - 5 / (1 + exp(-2x))); y[t] = x[t] + noise.

    Every episode starts at 0.5 unless `initial_sd` is raised. The state lives in about
    [-3.2, 1.2].
    """

    process_variance: float = 0.0025
    observation_variance: float = 0.008
    initial_mean: float = 0.5
    initial_sd: float = 0.0

    def function(self, x: Float[Array | np.ndarray, "..."]) -> Float[Array, "..."]:
        """The noise-free transition, elementwise."""
        state = jnp.asarray(x)
        return 0.8 + (state + 0.2) * (1.0 - 5.0 * jax.nn.sigmoid(2.0 * state))

    def simulate(self, *, episodes: int = 30, steps: int = 20, key: PRNGKeyArray) -> Simulated:
        """Independent episodes, each from its own initial state."""
        return _simulate(self, episodes=episodes, steps=steps, key=key)


def _simulate(system: Kink | SmoothKink, *, episodes: int, steps: int, key: PRNGKeyArray) -> Simulated:
    if min(episodes, steps) < 1:
        raise ValueError(f"episodes and steps must be at least 1, got {episodes} and {steps}")
    with jax.enable_x64(True):
        states, outputs = _draw(system, episodes, steps, key)
        states, outputs = np.asarray(states), np.asarray(outputs)
    return Simulated(episodes=Episodes.from_arrays(y=list(outputs)), states=tuple(states))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _draw(
    system: Kink | SmoothKink, episodes: int, steps: int, key: PRNGKeyArray
) -> tuple[Float[Array, "B T 1"], Float[Array, "B T 1"]]:
    def episode(key: PRNGKeyArray) -> tuple[Array, Array]:
        key_start, key_process, key_noise = jr.split(key, 3)
        start = system.initial_mean + system.initial_sd * jr.normal(key_start, (1,))
        disturbances = system.process_variance**0.5 * jr.normal(key_process, (steps, 1))
        _, states = lax.scan(lambda x, w: (system.function(x) + w, x), start, disturbances)
        return states, states + system.observation_variance**0.5 * jr.normal(key_noise, (steps, 1))

    # A key per episode: asking for more episodes leaves the first ones as they were.
    keys = jax.vmap(lambda i: jr.fold_in(key, i))(jnp.arange(episodes, dtype=jnp.uint32))
    return jax.vmap(episode)(keys)
