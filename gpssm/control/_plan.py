"""Predicting the state distribution under a policy, and the expected cost of a trial."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from gpssm.control._cost import expected_saturating_cost
from gpssm.control._gp import ConditionedGP
from gpssm.control._moments import Gaussian, append, select
from gpssm.control._policy import Controller, RBFPolicy
from gpssm.control._task import Task
from gpssm.control._trigonometry import sine_cosine_moments


def next_state(
    task: Task, controller: Controller, gp: ConditionedGP, noise_variance: Float[Array, " D"], state: Gaussian
) -> Gaussian:
    """The state distribution one step later, by moment matching.

    The controller sees a noisy measurement of the state; the dynamics act on the state itself.
    """
    num_states = len(state.mean)
    joint = append(state, sine_cosine_moments(state, task.angles), range(num_states))
    measured = Gaussian(state.mean, state.cov + jnp.diag(noise_variance))
    measured = append(measured, sine_cosine_moments(measured, task.angles), range(num_states))
    action = controller.moments(select(measured, task.feature_inputs), task.system.action_limit)
    joint = append(joint, action, task.feature_inputs)
    num_features = num_states + 2 * len(task.angles)
    seen = (*task.feature_inputs, *range(num_features, len(joint.mean)))
    change = gp.moments(select(joint, seen))
    cross = joint.cov[:num_states][:, jnp.asarray(seen)] @ change.gain
    cov = state.cov + change.cov + cross + cross.T
    return Gaussian(state.mean + change.mean, (cov + cov.T) / 2.0)


def expected_cost(task: Task, state: Gaussian) -> Float[Array, ""]:
    """Expected saturating cost of one state, with the features taken as jointly Gaussian."""
    features = append(state, sine_cosine_moments(state, task.angles), range(len(state.mean)))
    rows = jnp.asarray(task.tip_rows, state.mean.dtype)
    tip = Gaussian(rows @ features.mean, rows @ features.cov @ rows.T)
    return expected_saturating_cost(tip, jnp.asarray(task.target, state.mean.dtype), task.cost_width)


def initial_state(task: Task) -> Gaussian:
    """The distribution from which trials start."""
    return Gaussian(jnp.asarray(task.system.initial_mean), jnp.diag(jnp.asarray(task.system.initial_sd) ** 2))


def predict(
    task: Task, policy: RBFPolicy, gp: ConditionedGP, noise_variance: Float[Array, " D"]
) -> tuple[Gaussian, Float[Array, " T"]]:
    """State distributions after 1, 2, ..., `task.steps` steps and their expected costs."""
    controller = policy.condition()

    # Recomputing a step in the backward pass is cheaper than keeping its points-by-points matrices.
    @jax.checkpoint
    def advance(state: Gaussian, _: None) -> tuple[Gaussian, tuple[Gaussian, Array]]:
        following = next_state(task, controller, gp, noise_variance, state)
        return following, (following, expected_cost(task, following))

    return lax.scan(advance, initial_state(task), None, length=task.steps)[1]


@partial(jax.jit, static_argnums=0)
def loss_and_gradient(
    task: Task, policy: RBFPolicy, gp: ConditionedGP, noise_variance: Float[Array, " D"]
) -> tuple[Float[Array, ""], RBFPolicy]:
    """Expected cost per step of a whole trial, and its gradient with respect to the policy."""

    def mean_cost(policy: RBFPolicy) -> Float[Array, ""]:
        return predict(task, policy, gp, noise_variance)[1].mean()

    return jax.value_and_grad(mean_cost)(policy)
