"""Predicted state distributions: limits that are known exactly, and gradients."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from gpssm.control import (
    ConditionedGP,
    Gaussian,
    RBFPolicy,
    cart_pole_swing_up,
    double_pendulum_swing_up,
    expected_cost,
    improve_policy,
    loss_and_gradient,
    next_state,
    predict,
    saturating_cost,
)

pytestmark = pytest.mark.system  # programs of many steps take long to compile

TASKS = [cart_pole_swing_up(), double_pendulum_swing_up()]
IDS = ["cart-pole", "double-pendulum"]
cost_of = jax.jit(expected_cost, static_argnums=0)


def random_parts(task, *, points=8, centres=5):
    """A policy and a model with random parameters of a plausible size."""
    rng = np.random.default_rng(0)
    seen, actions, states = len(task.feature_inputs), len(task.system.action_names), len(task.system.state_names)
    policy = RBFPolicy(
        centres=jnp.asarray(rng.normal(size=(centres, seen))),
        targets=jnp.asarray(0.5 * rng.normal(size=(centres, actions))),
        log_lengthscales=jnp.zeros((actions, seen)),
    )
    x = rng.normal(size=(points, seen + actions))
    distance = ((x[:, None] - x[None]) ** 2).sum(2) / 4
    inverse = np.linalg.inv(0.3 * np.exp(-0.5 * distance) + 0.01 * np.eye(points))
    gp = ConditionedGP(
        inputs=jnp.asarray(x),
        lengthscales=2.0 * jnp.ones((states, seen + actions)),
        signal_variance=0.3 * jnp.ones(states),
        weights=jnp.asarray(0.3 * rng.normal(size=(states, points)) @ inverse),
        reductions=jnp.asarray(np.stack([inverse] * states)),
        spare=0.3 * jnp.ones(states),
    )
    return policy, gp, jnp.asarray(rng.normal(size=states))


@pytest.mark.parametrize("task", TASKS, ids=IDS)
def test_a_narrow_state_distribution_moves_like_its_linearisation(task):
    policy, gp, mean = random_parts(task)
    controller, limit = policy.condition(), task.system.action_limit
    chosen = jnp.asarray(task.feature_inputs)
    root = 1e-5 * np.random.default_rng(1).normal(size=(4, 4))
    cov, noise = jnp.asarray(root @ root.T), 1e-10 * jnp.arange(1.0, 5.0)

    def inputs(state, measured):
        return jnp.concatenate([task.features(state)[chosen], controller.act(task.features(measured)[chosen], limit)])

    def move(state, measured):
        return state + gp.mean(inputs(state, measured))

    @jax.jit
    def reference(x):
        slopes = jax.jacobian(lambda z: move(z, z))(x), jax.jacobian(lambda z: move(x, z))(x)
        return move(x, x), gp.variance(inputs(x, x)), *slopes

    moved, variance, by_state, by_noise = reference(mean)
    linearised = by_state @ cov @ by_state.T + by_noise @ jnp.diag(noise) @ by_noise.T
    predict_next = eqx.filter_jit(next_state)
    predicted = predict_next(task, controller, gp, noise, Gaussian(mean, cov))
    np.testing.assert_allclose(predicted.mean, moved, atol=1e-7)
    certain = predict_next(task, controller, gp, 0 * noise, Gaussian(mean, 0 * cov))
    np.testing.assert_allclose(certain.cov, jnp.diag(variance), atol=1e-12)
    # Without the uncertainty of the function only the linearised spread remains.
    mean_only = eqx.tree_at(lambda g: (g.spare, g.reductions), gp, (0 * gp.spare, 0 * gp.reductions))
    spread = predict_next(task, controller, mean_only, noise, Gaussian(mean, cov))
    np.testing.assert_allclose(spread.cov, linearised, atol=2e-4 * float(jnp.abs(linearised).max()))


@pytest.mark.parametrize("task", TASKS, ids=IDS)
def test_expected_cost_of_a_known_state_is_its_cost(task):
    for mean in np.random.default_rng(2).normal(size=(3, 4)):
        tip = task.system.tip(jnp.asarray(mean))
        direct = saturating_cost(tip, jnp.asarray(task.target), task.cost_width)
        expected = cost_of(task, Gaussian(jnp.asarray(mean), jnp.zeros((4, 4))))
        np.testing.assert_allclose(expected, direct, atol=1e-12)


def test_upright_at_rest_costs_nothing_and_hanging_costs_everything():
    for task, upright in zip(TASKS, ([0.0, 0.0, 0.0, np.pi], [0.0, 0.0, 0.0, 0.0]), strict=True):
        zero = jnp.zeros((4, 4))
        assert cost_of(task, Gaussian(jnp.asarray(upright), zero)) < 1e-12
        assert cost_of(task, Gaussian(jnp.asarray(task.system.initial_mean), zero)) > 0.99


# Compiling a gradient through several steps takes seconds; the two tasks share all but their features.
@pytest.mark.parametrize("task", [TASKS[0], pytest.param(TASKS[1], marks=pytest.mark.slow)], ids=IDS)
def test_policy_gradient_matches_finite_differences(task):
    short = replace(task, steps=3, cost_width=2.0)
    policy, gp, _ = random_parts(short)
    noise = 0.01 * jnp.ones(4)
    _, gradient = loss_and_gradient(short, policy, gp, noise)
    start, unravel = ravel_pytree(policy)
    flat = np.asarray(ravel_pytree(gradient)[0])
    assert np.abs(flat).max() > 1e-4
    h = 1e-5
    for seed in range(3):
        direction = np.asarray(jr.normal(jr.key(seed), start.shape))
        ahead, behind = (
            loss_and_gradient(short, unravel(start + sign * h * direction), gp, noise)[0] for sign in (1, -1)
        )
        np.testing.assert_allclose(flat @ direction, (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-9)


def test_predictions_have_one_row_per_step_and_the_loss_is_their_mean():
    task = replace(TASKS[0], steps=3, cost_width=2.0)
    policy, gp, _ = random_parts(task)
    noise = 0.01 * jnp.ones(4)
    states, costs = eqx.filter_jit(predict)(task, policy, gp, noise)
    assert states.mean.shape == (3, 4) and states.cov.shape == (3, 4, 4) and costs.shape == (3,)
    np.testing.assert_allclose(loss_and_gradient(task, policy, gp, noise)[0], costs.mean(), rtol=1e-12)
    for cov in np.asarray(states.cov):
        assert np.linalg.eigvalsh(cov).min() > 0


def test_improvement_lowers_the_expected_cost():
    task = replace(TASKS[0], steps=3, cost_width=2.0)
    policy, gp, _ = random_parts(task)
    noise = 0.01 * jnp.ones(4)
    before = float(loss_and_gradient(task, policy, gp, noise)[0])
    improved = improve_policy(task, policy, gp, noise, max_iterations=5)
    after = float(loss_and_gradient(task, improved.policy, gp, noise)[0])
    np.testing.assert_allclose(after, improved.cost, rtol=1e-12)
    assert after < before - 1e-4
