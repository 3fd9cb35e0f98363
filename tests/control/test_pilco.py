"""The learning loop and its files."""

import json
from dataclasses import replace

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm.control import (
    Trial,
    as_simulated,
    cart_pole_swing_up,
    learn,
    load_trials,
    quick_version,
    save_summary,
    save_trials,
)
from gpssm.systems import step

RECORDED = ("outputs", "states", "actions", "costs", "distances")

# Learning a controller is training.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def task():
    return quick_version(cart_pole_swing_up())


@pytest.fixture(scope="module")
def trials(task):
    return list(learn(task, key=jr.key(4)))


def assert_same(left, right):
    for name in RECORDED:
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))
    assert left.expected_cost == right.expected_cost
    assert (left.policy is None) == (right.policy is None)
    if left.policy is not None:
        np.testing.assert_array_equal(left.policy.centres, right.policy.centres)


def test_trials_are_consistent_with_the_system(task, trials):
    assert len(trials) == 3 and trials[0].policy is None and trials[2].policy is not None
    system = task.system
    for trial in trials:
        assert trial.outputs.shape == trial.states.shape == (8, 4) and trial.actions.shape == (8, 1)
        assert np.abs(trial.actions).max() <= system.action_limit
        following = [step(system, x, u) for x, u in zip(trial.states, trial.actions, strict=True)]
        np.testing.assert_array_equal(trial.states[1:], following[:-1])
        noise = trial.outputs - trial.states
        assert 0.2 < noise.std() / 0.01 < 2
        tips = np.asarray(system.tip(jnp.asarray(trial.states)))
        distances = np.hypot(*(tips - task.target).T)
        np.testing.assert_allclose(trial.distances, distances, atol=1e-12)
        np.testing.assert_allclose(trial.costs, 1 - np.exp(-(distances**2) / (2 * 0.25**2)), atol=1e-12)


def test_the_policy_acts_on_measurements(task, trials):
    trial = trials[1]
    controller = trial.policy.condition()
    for output, action in zip(trial.outputs, trial.actions, strict=True):
        x, v, w, angle = output
        seen = jnp.asarray([x, v, w, np.sin(angle), np.cos(angle)])
        np.testing.assert_allclose(controller.act(seen, 10.0), action, atol=1e-9)


def test_an_interrupted_run_continues_as_if_it_had_not_been(task, trials, tmp_path):
    save_trials(tmp_path / "run.npz", trials[:2])
    restored = load_trials(tmp_path / "run.npz")
    continued = list(learn(task, key=jr.key(4), done=restored))
    assert len(continued) == 1
    assert_same(continued[0], trials[2])


def test_files_hold_every_bit(task, trials, tmp_path):
    save_trials(tmp_path / "run.npz", trials)
    for stored, trial in zip(load_trials(tmp_path / "run.npz"), trials, strict=True):
        assert_same(stored, trial)
    save_trials(tmp_path / "first.npz", trials[:1])
    assert_same(load_trials(tmp_path / "first.npz")[0], trials[0])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.npz", "run.npz"]


def test_summary(task, trials, tmp_path):
    save_summary(tmp_path / "run.json", task, trials[:2], seed=4)
    summary = json.loads((tmp_path / "run.json").read_text())
    assert summary["seed"] == 4 and summary["complete"] is False
    assert summary["solved"] == [False, False] and summary["first_solved_trial"] is None
    assert summary["mean_cost"][1] == pytest.approx(trials[1].costs.mean())
    assert summary["task"]["system"]["rod_mass"] == 0.5
    assert set(summary["versions"]) >= {"jax", "numpy", "scipy"}


def test_other_seeds_give_other_trials(task, trials):
    other = next(learn(task, key=jr.key(5)))
    assert np.abs(other.outputs - trials[0].outputs).min() > 0


def test_solved_looks_at_the_end_of_the_trial(task):
    zeros = np.zeros((8, 4))
    far = np.linspace(1.0, 0.01, 8)
    trial = Trial(zeros, zeros, zeros[:, :1], far, far, None, None)
    # Last two distances: 0.151 and 0.01.
    assert trial.solved(replace(task, solved_distance=0.2))
    assert not trial.solved(replace(task, solved_distance=0.1))


def test_episodes_with_hidden_states(task, trials):
    simulated = as_simulated(task, trials, observed=(0, 3))
    assert simulated.episodes.output_names == ("position", "angle")
    assert simulated.episodes.dt == 0.1 and len(simulated.episodes) == 3
    np.testing.assert_array_equal(simulated.episodes[1].y, trials[1].outputs[:, [0, 3]])
    np.testing.assert_array_equal(simulated.episodes[1].u, trials[1].actions)
    np.testing.assert_array_equal(simulated.states[1], trials[1].states)
    assert as_simulated(task, trials).episodes.num_outputs == 4
