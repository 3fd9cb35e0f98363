"""The committed swing-up trials can be made again from their seeds."""

from pathlib import Path

import jax.random as jr
import numpy as np
import pytest

from gpssm.control import cart_pole_swing_up, double_pendulum_swing_up, learn, load_trials, replay

RECORDED = ("outputs", "states", "actions", "costs", "distances")
RESULTS = Path(__file__).parents[2] / "results" / "pilco"
TASKS = {"cart_pole": cart_pole_swing_up(), "double_pendulum": double_pendulum_swing_up()}
STORED = [(name, seed) for name in TASKS for seed in range(10) if (RESULTS / f"{name}_seed{seed}.npz").exists()]


def _same(again, stored) -> None:
    for field in RECORDED:
        np.testing.assert_allclose(getattr(again, field), getattr(stored, field), rtol=0, atol=1e-9)


def test_three_seeds_of_the_cart_pole_are_stored_and_solved():
    for seed in range(3):
        trials = load_trials(RESULTS / f"cart_pole_seed{seed}.npz")
        assert len(trials) == TASKS["cart_pole"].num_trials
        assert trials[-1].solved(TASKS["cart_pole"])


@pytest.mark.parametrize(("name", "seed"), STORED)
def test_first_two_stored_trials_can_be_replayed(name, seed):
    """The random trial from the seed alone, the next one from the seed and the stored policy."""
    for number, stored in enumerate(load_trials(RESULTS / f"{name}_seed{seed}.npz")[:2]):
        _same(replay(TASKS[name], stored.policy, number, key=jr.key(seed)), stored)


@pytest.mark.parametrize(("name", "seed"), STORED[:1])
def test_recorded_actions_make_the_same_trial_from_the_same_start_and_answer_nothing_from_another(name, seed):
    stored, task = load_trials(RESULTS / f"{name}_seed{seed}.npz")[1], TASKS[name]
    _same(replay(task, None, 1, actions=stored.actions, key=jr.key(seed)), stored)
    elsewhere = replay(task, stored.policy, 1, actions=stored.actions, key=jr.key(seed + 1000))
    np.testing.assert_array_equal(elsewhere.actions, stored.actions)
    assert abs(elsewhere.states[0] - stored.states[0]).max() > 0.01
    assert elsewhere.policy is None


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), STORED[:1])
def test_the_first_policy_can_be_learnt_again(name, seed):
    """The trial that it learns from is the same everywhere. A long search ends elsewhere on a processor that rounds
    differently, and must be as good there."""
    again = learn(TASKS[name], key=jr.key(seed))
    stored = load_trials(RESULTS / f"{name}_seed{seed}.npz")[:2]
    _same(next(again), stored[0])
    assert next(again).expected_cost == pytest.approx(stored[1].expected_cost, abs=0.03)
