"""The differential equations, their integrators and the simulator built on them."""

import inspect
import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm.systems import Adaptive, CartPole, DoublePendulum, Pendulum, step, trajectory

SYSTEMS = [Pendulum(), CartPole(), DoublePendulum()]
IDS = [type(system).__name__ for system in SYSTEMS]

# Two Gauss-Legendre nodes integrate the quadratic energy density along a rod exactly.
NODES = np.array([0.5 - 0.5 / np.sqrt(3), 0.5 + 0.5 / np.sqrt(3)])


def rod_energy(base, base_velocity, direction, spin, mass, length, gravity):
    """Kinetic plus potential energy of a uniform rod from the motion of its points."""
    normal = np.stack([-direction[..., 1], direction[..., 0]], axis=-1)
    energy = np.zeros(spin.shape)
    for node in NODES:
        velocity = base_velocity + spin[..., None] * node * length * normal
        height = (base + node * length * direction)[..., 1]
        energy = energy + mass / 2 * (0.5 * (velocity**2).sum(-1) + gravity * height)
    return energy


def energy(system, states):
    if isinstance(system, Pendulum):
        angle, spin = states[:, 0], states[:, 1]
        return 0.5 * system.mass * (system.length * spin) ** 2 - (
            system.mass * system.gravity * system.length * np.cos(angle)
        )
    if isinstance(system, CartPole):
        x, v, spin, angle = states.T
        base, velocity = np.stack([x, 0 * x], -1), np.stack([v, 0 * v], -1)
        direction = np.stack([np.sin(angle), -np.cos(angle)], -1)
        rod = rod_energy(base, velocity, direction, spin, system.rod_mass, system.length, system.gravity)
        return rod + 0.5 * system.cart_mass * v**2
    w1, w2, a1, a2 = states.T
    along1, along2 = (np.stack([-np.sin(a), np.cos(a)], -1) for a in (a1, a2))
    normal1 = np.stack([-along1[:, 1], along1[:, 0]], -1)
    joint, zero = system.inner_length * along1, np.zeros((len(states), 2))
    joint_velocity = w1[:, None] * system.inner_length * normal1
    inner = rod_energy(zero, zero, along1, w1, system.inner_mass, system.inner_length, system.gravity)
    outer = rod_energy(joint, joint_velocity, along2, w2, system.outer_mass, system.outer_length, system.gravity)
    return inner + outer


STARTS = {"Pendulum": [2.5, 1.0], "CartPole": [0.1, -0.4, 3.0, 2.0], "DoublePendulum": [1.0, -2.0, 1.2, 2.2]}


def start_of(system):
    return np.array(STARTS[type(system).__name__])


@pytest.mark.parametrize("system", SYSTEMS, ids=IDS)
def test_energy_is_conserved_without_friction_and_actions(system):
    free = system if isinstance(system, DoublePendulum) else replace(system, friction=0.0)
    states = trajectory(free, start_of(free), np.zeros((60, len(free.action_names))))
    values = energy(free, states)
    assert np.ptp(states, axis=0).min() > 0.3
    np.testing.assert_allclose(values, values[0], rtol=0, atol=1e-8)


@pytest.mark.parametrize("system", SYSTEMS, ids=IDS)
def test_power_of_the_actions_equals_the_rate_of_energy(system):
    """dE/dt = action . (velocity it works on) minus friction losses, at random states."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        state, action = rng.normal(size=len(system.state_names)), rng.normal(size=len(system.action_names))
        rate = np.asarray(system.derivative(jnp.asarray(state), jnp.asarray(action)))
        h = 1e-6
        numeric = (energy(system, (state + h * rate)[None]) - energy(system, (state - h * rate)[None]))[0] / (2 * h)
        if isinstance(system, DoublePendulum):
            power = action @ state[:2]
        else:
            power = (action[0] - system.friction * state[1]) * state[1]
        np.testing.assert_allclose(numeric, power, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("system", SYSTEMS, ids=IDS)
def test_fixed_and_adaptive_integrators_agree(system):
    actions = np.random.default_rng(0).uniform(-1, 1, size=(15, len(system.action_names))) * system.action_limit
    fixed = trajectory(system, start_of(system), actions)
    adaptive = trajectory(replace(system, integrator=Adaptive(tolerance=1e-12)), start_of(system), actions)
    assert fixed.dtype == np.float64
    np.testing.assert_allclose(fixed, adaptive, rtol=0, atol=1e-8)


def test_double_precision_holds_without_global_setting():
    system = CartPole()
    expected = step(system, start_of(system), np.array([3.0]))
    with jax.enable_x64(False):
        single = step(system, start_of(system), np.array([3.0]))
        simulated = system.simulate(episodes=1, steps=3, key=jr.key(0))
        assert jnp.ones(1).dtype == jnp.float32
    np.testing.assert_array_equal(single, expected)
    assert simulated.states[0].dtype == np.float64
    assert np.abs(simulated.states[0] - simulated.states[0].astype(np.float32)).max() > 0


@pytest.mark.parametrize("system", SYSTEMS, ids=IDS)
def test_simulation_shapes_names_and_truth(system):
    last = len(system.state_names) - 1
    simulated = system.simulate(episodes=3, steps=7, hold=3, observed=(last, 0), key=jr.key(3))
    assert len(simulated.episodes) == len(simulated.states) == 3
    assert simulated.episodes.output_names == (system.state_names[last], system.state_names[0])
    assert simulated.episodes.input_names == system.action_names
    assert simulated.episodes.dt == system.dt
    for episode, states in zip(simulated.episodes, simulated.states, strict=True):
        assert episode.y.shape == (7, 2) and states.shape == (7, last + 1)
        np.testing.assert_array_equal(episode.u[0], episode.u[2])
        assert (episode.u[2] != episode.u[3]).all()
        assert np.abs(episode.u).max() <= system.action_limit
        np.testing.assert_allclose(states, trajectory(system, states[0], episode.u), rtol=0, atol=1e-10)
        np.testing.assert_allclose(episode.y, states[:, [last, 0]], atol=8 * system.observation_variance**0.5)
        assert (episode.y != states[:, [last, 0]]).all()


@pytest.mark.parametrize(
    ("system", "sizes"),
    [(Pendulum(), (15, 40, (0,))), (CartPole(), (16, 40, (0, 1, 2, 3))), (DoublePendulum(), (15, 30, (0, 1, 2, 3)))],
    ids=IDS,
)
def test_default_sizes(system, sizes):
    parameters = inspect.signature(system.simulate).parameters
    assert tuple(parameters[name].default for name in ("episodes", "steps", "observed")) == sizes


@pytest.mark.parametrize("system", SYSTEMS, ids=IDS)
def test_same_key_same_episodes(system):
    first, again = (system.simulate(episodes=3, steps=7, hold=3, key=jr.key(5)) for _ in range(2))
    other = system.simulate(episodes=3, steps=7, hold=3, key=jr.key(6))
    for i in range(3):
        np.testing.assert_array_equal(first.episodes[i].y, again.episodes[i].y)
        np.testing.assert_array_equal(first.episodes[i].u, again.episodes[i].u)
        assert np.abs(first.episodes[i].u - other.episodes[i].u).max() > 0.1
        assert np.abs(first.states[i] - first.states[(i + 1) % 3]).max() > 0.01


def test_more_episodes_leave_the_first_as_they_were():
    few, more = (Pendulum().simulate(episodes=n, steps=7, hold=3, key=jr.key(5)) for n in (3, 5))
    for i in range(3):
        np.testing.assert_array_equal(few.episodes[i].u, more.episodes[i].u)
        np.testing.assert_allclose(few.episodes[i].y, more.episodes[i].y, rtol=0, atol=1e-12)


def test_noise_variances_are_recovered():
    system = replace(Pendulum(), process_variance=0.03, observation_variance=0.2)
    simulated = system.simulate(episodes=50, steps=21, observed=(0, 1), key=jr.key(7))
    advance = jax.jit(jax.vmap(lambda x, u: system.integrator.advance(system.derivative, x, u, system.dt)))
    states = np.stack(simulated.states)
    before = states[:, :-1].reshape(-1, 2)
    actions = np.concatenate([episode.u[:-1] for episode in simulated.episodes])
    process = states[:, 1:].reshape(-1, 2) - np.asarray(advance(jnp.asarray(before), jnp.asarray(actions)))
    observation = np.concatenate([e.y - x for e, x in zip(simulated.episodes, simulated.states, strict=True)])
    for residual, variance in ((process, 0.03), (observation, 0.2)):
        standard_error = variance * np.sqrt(2 / residual.size)
        assert abs((residual**2).mean() - variance) < 4 * standard_error
        assert abs(np.corrcoef(residual.T)[0, 1]) < 4 / np.sqrt(len(residual))


def test_tips():
    cart, double = CartPole(), DoublePendulum()
    np.testing.assert_allclose(cart.tip(jnp.array([0.3, 0.0, 0.0, np.pi])), [0.3, 0.5], atol=1e-12)
    np.testing.assert_allclose(cart.tip(jnp.array([0.3, 9.0, 9.0, np.pi / 2])), [0.8, 0.0], atol=1e-12)
    np.testing.assert_allclose(double.tip(jnp.zeros((3, 4))), [[0.0, 1.0]] * 3, atol=1e-12)
    np.testing.assert_allclose(double.tip(jnp.array([1.0, 1.0, np.pi / 2, np.pi])), [-0.5, -0.5], atol=1e-12)


@pytest.mark.parametrize("observed", [(), (0, 0), (2,), (-1,)])
def test_bad_observed_indices_are_refused(observed):
    with pytest.raises(ValueError, match=r"distinct state indices in 0\.\.1"):
        Pendulum().simulate(observed=observed, key=jr.key(0))


@pytest.mark.parametrize("sizes", [{"episodes": 0}, {"steps": 0}, {"hold": 0}])
def test_empty_simulations_are_refused(sizes):
    with pytest.raises(ValueError, match="at least 1"):
        Pendulum().simulate(**sizes, key=jr.key(0))


def test_importing_systems_does_not_import_diffrax():
    code = "import sys, gpssm.systems; sys.exit('diffrax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
