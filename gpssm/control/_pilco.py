"""The learning loop: act, fit the model, improve the policy, act again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.control._cost import saturating_cost
from gpssm.control._dynamics_model import DynamicsModel, fit_dynamics
from gpssm.control._gp import ConditionedGP
from gpssm.control._moments import Gaussian
from gpssm.control._optimise import improve_policy
from gpssm.control._plan import initial_state, loss_and_gradient
from gpssm.control._policy import Controller, RBFPolicy
from gpssm.control._task import Task
from gpssm.systems import step


@final
@dataclass(frozen=True)
class Trial:
    """One recorded trial: row t holds measurement, true state and cost at t, and the action held from t to t + 1."""

    outputs: Float[np.ndarray, "T D"]
    states: Float[np.ndarray, "T D"]
    actions: Float[np.ndarray, "T P"]
    costs: Float[np.ndarray, " T"]
    distances: Float[np.ndarray, " T"]
    policy: RBFPolicy | None  # None for the random trial
    expected_cost: float | None  # per step, as the model saw it before the trial

    def solved(self, task: Task) -> bool:
        """Whether the tip stayed close to the target at the end."""
        return bool(self.distances[-task.solved_steps :].max() < task.solved_distance)


def learn(task: Task, *, key: PRNGKeyArray, done: Sequence[Trial] = ()) -> Iterator[Trial]:
    """Yield trials one by one; the first acts at random.

    Every trial depends on the key, its number and the trials before it and on nothing else, so a run that was
    interrupted continues as if it had not been when the trials it produced are handed in as `done`.
    """
    trials = list(done)
    while len(trials) < task.num_trials:
        with jax.enable_x64(True):
            trial = _next_trial(task, trials, jr.fold_in(key, len(trials)))
        trials.append(trial)
        yield trial


def replay(
    task: Task,
    policy: RBFPolicy | None,
    number: int,
    *,
    actions: Float[np.ndarray, "T P"] | None = None,
    key: PRNGKeyArray,
) -> Trial:
    """Run trial `number` of the run with this key again, with a given policy (None: random actions), or under a
    recorded sequence of actions, which answer nothing that happens."""
    with jax.enable_x64(True):
        return _run(task, policy, None, jr.fold_in(key, number), actions)


def _next_trial(task: Task, trials: Sequence[Trial], key: PRNGKeyArray) -> Trial:
    if not trials:
        return _run(task, None, None, key)
    model = _fit(task, trials)
    # A difference of two measurements holds the noise of both.
    noise_variance = jnp.asarray(model.hyperparameters.noise_sd**2 / 2.0)
    last = trials[-1]
    starts = [] if last.policy is None else [last.policy]
    if not last.solved(task):
        # The expected cost has many poor local minima; a warm start alone would stay in the first one found.
        starts += _fresh_starts(task, model.gp, noise_variance, key=jr.fold_in(key, 1))
    found = [
        improve_policy(task, start, model.gp, noise_variance, max_iterations=task.max_iterations) for start in starts
    ]
    best = min(found, key=lambda improved: improved.cost)
    if task.more_iterations:
        best = improve_policy(task, best.policy, model.gp, noise_variance, max_iterations=task.more_iterations)
    return _run(task, best.policy, best.cost, key)


def _fit(task: Task, trials: Sequence[Trial]) -> DynamicsModel:
    inputs, changes = [], []
    for trial in trials:
        seen = np.asarray(_seen(task, jnp.asarray(trial.outputs)))
        inputs.append(np.concatenate([seen, trial.actions], axis=1)[:-1])
        changes.append(np.diff(trial.outputs, axis=0))
    return fit_dynamics(np.concatenate(inputs), np.concatenate(changes), num_points=task.num_points)


def _fresh_starts(
    task: Task, gp: ConditionedGP, noise_variance: Float[Array, " D"], *, key: PRNGKeyArray
) -> list[RBFPolicy]:
    """The most promising of many random policies; most of them never come near the target and have no slope."""
    candidates = [_random_policy(task, jr.fold_in(key, i)) for i in range(task.num_candidates)]
    costs = [float(loss_and_gradient(task, policy, gp, noise_variance)[0]) for policy in candidates]
    order = np.argsort(np.nan_to_num(costs, nan=np.inf), kind="stable")
    return [candidates[i] for i in order[: task.num_fresh_starts]]


def _random_policy(task: Task, key: PRNGKeyArray) -> RBFPolicy:
    spread = jnp.asarray(task.policy_spread)
    return RBFPolicy.random(
        Gaussian(jnp.zeros_like(spread), jnp.diag(spread**2)),
        num_centres=task.num_centres,
        num_actions=len(task.system.action_names),
        log_lengthscales=jnp.log(jnp.asarray(task.policy_lengthscales)),
        key=key,
    )


def _run(
    task: Task,
    policy: RBFPolicy | None,
    expected: float | None,
    key: PRNGKeyArray,
    recorded: Float[np.ndarray, "T P"] | None = None,
) -> Trial:
    """One trial on the true system. The policy acts on what is measured, noise included; recorded actions go before
    it."""
    key_start, key_noise, key_action = jr.split(jr.fold_in(key, 0), 3)
    system = task.system
    start = initial_state(task)
    state = np.asarray(start.mean + jnp.asarray(system.initial_sd) * jr.normal(key_start, start.mean.shape))
    noise = np.asarray(system.observation_variance**0.5 * jr.normal(key_noise, (task.steps, len(state))))
    limit, shape = system.action_limit, (task.steps, len(system.action_names))
    given = np.asarray(jr.uniform(key_action, shape, minval=-limit, maxval=limit)) if recorded is None else recorded
    controller = None if policy is None or recorded is not None else _condition(policy)
    states, outputs, actions = [], [], []
    for t in range(task.steps):
        output = state + noise[t]
        action = given[t] if controller is None else np.asarray(_act(task, controller, jnp.asarray(output)))
        states.append(state)
        outputs.append(output)
        actions.append(action)
        state = step(system, state, action)
    tips = _tips(task, jnp.asarray(np.stack(states)))
    target = jnp.asarray(task.target)
    return Trial(
        outputs=np.stack(outputs),
        states=np.stack(states),
        actions=np.stack(actions),
        costs=np.asarray(saturating_cost(tips, target, task.cost_width)),
        distances=np.asarray(jnp.sqrt(((tips - target[None, :]) ** 2).sum(1))),
        policy=policy if recorded is None else None,
        expected_cost=expected,
    )


@partial(jax.jit, static_argnums=0)
def _seen(task: Task, states: Float[Array, "T D"]) -> Float[Array, "T F"]:
    return jax.vmap(task.features)(states)[:, jnp.asarray(task.feature_inputs)]


@partial(jax.jit, static_argnums=0)
def _tips(task: Task, states: Float[Array, "T D"]) -> Float[Array, "T 2"]:
    return jax.vmap(task.features)(states) @ jnp.asarray(task.tip_rows).T


@jax.jit
def _condition(policy: RBFPolicy) -> Controller:
    return policy.condition()


@partial(jax.jit, static_argnums=0)
def _act(task: Task, controller: Controller, output: Float[Array, " D"]) -> Float[Array, " P"]:
    return controller.act(task.features(output)[jnp.asarray(task.feature_inputs)], task.system.action_limit)
