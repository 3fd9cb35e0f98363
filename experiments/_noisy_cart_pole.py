"""A cart-pole with poor sensors and random forces: how episodes are made, and what its own filter would predict.

The controls are smooth random signals that do not answer what is measured, so that a recorded control tells nothing
about the future. A random force acts beside the control, held over a step as the control is.
"""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

import gpssm
from experiments._trials import Study, Test
from gpssm.control import cart_pole_swing_up
from gpssm.systems import CartPole, RungeKutta4

SYSTEM = CartPole(integrator=RungeKutta4(substeps=4))
SENSOR_SD = (0.02, 0.3, 1.0, np.deg2rad(5.0))
"""Of position, velocity, angular velocity and angle."""
FORCE_SD = 0.5
START_SD = (0.3, 0.3, 2.0, 0.7)
CONTROL_SD, CONTROL_TIME, CONTROL_RATE = 3.0, 1.0, 1.0
"""Newtons, seconds and hertz: a random oscillation, so that the cart stays near, which forgets its phase."""
STEPS = 40
PARTICLES = 1000


def noisy_study(seed: int, observed: tuple[int, ...], *, train: int, tests: int) -> Study:
    """Training and test episodes of a data seed; the cases see the same motion."""
    with jax.enable_x64(True):
        keys = jax.vmap(lambda i: jr.fold_in(jr.fold_in(jr.key(18), seed), i))(jnp.arange(train + tests))
        states, controls, measured = map(np.asarray, jax.vmap(_episode)(keys))
    names = [SYSTEM.state_names[i] for i in observed]

    def seen(i: int, name: str) -> gpssm.Episode:
        return gpssm.Episode(
            y=measured[i][:, list(observed)],
            u=controls[i],
            dt=SYSTEM.dt,
            name=name,
            output_names=tuple(names),
            input_names=SYSTEM.action_names,
        )

    held_out = [
        Test(f"test {i + 1}", seen(train + i, f"test {i + 1}"), states[train + i], measured[train + i])
        for i in range(tests)
    ]
    trained = gpssm.Episodes([seen(i, f"train {i + 1}") for i in range(train)])
    return Study(replace(cart_pole_swing_up(), system=SYSTEM), observed, trained, tuple(held_out))


def _advance(state: Float[Array, " 4"], control: Float[Array, " 1"], force: Float[Array, ""]) -> Float[Array, " 4"]:
    return SYSTEM.integrator.advance(SYSTEM.derivative, state, control + FORCE_SD * force, SYSTEM.dt)


@jax.jit
def _episode(key: PRNGKeyArray) -> tuple[Float[Array, "T 4"], Float[Array, "T 1"], Float[Array, "T 4"]]:
    start_key, control_key, force_key, noise_key = jr.split(key, 4)
    times = SYSTEM.dt * jnp.arange(STEPS)
    apart = times[:, None] - times[None, :]
    correlation = jnp.exp(-0.5 * (apart / CONTROL_TIME) ** 2) * jnp.cos(2.0 * jnp.pi * CONTROL_RATE * apart)
    drawn = CONTROL_SD * jnp.linalg.cholesky(correlation + 1e-8 * jnp.eye(STEPS)) @ jr.normal(control_key, (STEPS, 1))
    controls = jnp.clip(drawn, -SYSTEM.action_limit, SYSTEM.action_limit)
    start = jnp.asarray(START_SD) * jr.normal(start_key, (4,))

    def one(state: Array, given: tuple[Array, Array]) -> tuple[Array, Array]:
        return _advance(state, *given), state

    states = lax.scan(one, start, (controls, jr.normal(force_key, (STEPS,))))[1]
    return states, controls, states + jnp.asarray(SENSOR_SD)[None, :] * jr.normal(noise_key, states.shape)


def force_variance(study: Study) -> Float[np.ndarray, " 4"]:
    """Variance that the random force adds to each state in a step, over the test episodes."""
    with jax.enable_x64(True):
        states = jnp.concatenate([jnp.asarray(test.states) for test in study.tests])
        controls = jnp.concatenate([jnp.asarray(test.episode.u) for test in study.tests])
        slopes = jax.vmap(jax.jacfwd(_advance, argnums=2))(states, controls, jnp.zeros(len(states)))
        return np.asarray(jnp.mean(slopes**2, axis=0))


@dataclass(frozen=True)
class TrueFilter:
    """The true system with its true noises: a particle filter over what may be read, then free runs."""

    study: Study

    def simulate(self, episode: gpssm.Episode, *, n_init: int, num_samples: int, key: PRNGKeyArray) -> gpssm.Rollout:
        """As a learnt model would."""
        columns = tuple(self.study.observed)
        noise = np.asarray(SENSOR_SD)[list(columns)]
        with jax.enable_x64(True):
            states = np.asarray(_filtered(episode.y[:n_init], episode.u, columns, num_samples, key))
        signals = states[:, :, list(columns)]
        drawn = np.random.default_rng(np.asarray(jr.key_data(key))).standard_normal(signals.shape)
        return gpssm.Rollout(
            start=n_init,
            signals=signals,
            samples=signals + noise * drawn,
            states=states,
            noise_std=noise,
            output_names=episode.output_names,
            dt=episode.dt,
        )


@partial(jax.jit, static_argnums=(2, 3))
def _filtered(
    y: Float[Array, "S O"], u: Float[Array, "T 1"], columns: tuple[int, ...], count: int, key: PRNGKeyArray
) -> Float[Array, "K _ 4"]:
    """Free runs that begin at particles of the last step that was read."""
    noise, chosen = jnp.asarray(SENSOR_SD)[jnp.asarray(columns)], jnp.asarray(columns)
    start_key, filter_key, last_key, run_key = jr.split(key, 4)
    read = y.shape[0]
    move = jax.vmap(_advance, in_axes=(0, None, 0))

    def one(particles: Array, given: tuple[Array, Array, PRNGKeyArray]) -> tuple[Array, None]:
        measured, control, key = given
        choice_key, force_key = jr.split(key)
        moved = move(particles, control, jr.normal(force_key, (PARTICLES,)))
        misfit = jnp.sum(((measured[None, :] - moved[:, chosen]) / noise[None, :]) ** 2, axis=1)
        return moved[jr.categorical(choice_key, -0.5 * misfit, shape=(PARTICLES,))], None

    # The first measurement is taken into account exactly: both it and the start are Gaussian.
    start_sd = jnp.asarray(START_SD)
    share = start_sd[chosen] ** 2 / (start_sd[chosen] ** 2 + noise**2)
    mean = jnp.zeros(4).at[chosen].set(share * y[0])
    spread = start_sd.at[chosen].set(noise * jnp.sqrt(share))
    first = mean[None, :] + spread[None, :] * jr.normal(start_key, (PARTICLES, 4))
    now = lax.scan(one, first, (y[1:], u[: read - 1], jr.split(filter_key, read - 1)))[0]
    now = jr.choice(last_key, now, (count,))

    def on(states: Array, given: tuple[Array, Array]) -> tuple[Array, Array]:
        control, forces = given
        moved = move(states, control, forces)
        return moved, moved

    forces = jr.normal(run_key, (u.shape[0] - read, count))
    return jnp.swapaxes(lax.scan(on, now, (u[read - 1 : -1], forces))[1], 0, 1)
