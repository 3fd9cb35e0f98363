"""The stored swing-up trials as training and test episodes.

The paper's test is the last trial, which is balanced upright for most of its length: there an error grows e-fold
every 0.15 s, and the recorded controls answer the recorded noise. So models are also tested on trials that are not
balanced: the policies of the first two controlled trials from new starts, and the actions that these two recorded,
again from new starts, where they answer nothing that happens. (Random actions would carry the cart further than any
training trial went: they would test extrapolation.)
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import jax.random as jr
import numpy as np

from gpssm import Episode, Episodes
from gpssm.control import Task, as_simulated, cart_pole_swing_up, double_pendulum_swing_up, load_trials, replay
from gpssm.systems import CartPole, DoublePendulum

TASKS = {"cart_pole": cart_pole_swing_up(), "double_pendulum": double_pendulum_swing_up()}
STORED = Path(__file__).resolve().parents[1] / "results" / "pilco"
NUM_EACH = 2
"""Unbalanced tests with either policy, and with the actions that either recorded."""


@dataclass(frozen=True)
class Test:
    """A held-out episode, its noise-free states, and what full sensors would have shown."""

    name: str
    episode: Episode
    states: np.ndarray
    measured: np.ndarray
    """All states as a sensor would have shown them, also those that the case hides."""


@dataclass(frozen=True)
class Study:
    """What one seed of one system offers, seen through some of its states."""

    task: Task
    observed: tuple[int, ...]
    train: Episodes
    tests: tuple[Test, ...]
    lag: int = 0
    """Steps after which a recorded action acts."""

    def first(self, count: int) -> Episodes:
        """The first training episodes."""
        return self.train[:count]

    def tips(self, outputs: np.ndarray) -> np.ndarray:
        """Position of the tip for outputs of shape (..., O), in lengths of a rod."""
        full = np.zeros((*outputs.shape[:-1], len(self.task.system.state_names)))
        full[..., list(self.observed)] = outputs
        return self._tips_of_states(full)

    def true_tips(self, test: Test) -> np.ndarray:
        """Position of the tip in a test episode, without noise."""
        return self._tips_of_states(test.states)

    def _tips_of_states(self, states: np.ndarray) -> np.ndarray:
        angles = states[..., list(self.task.angles)]
        features = np.concatenate(
            [states, np.stack([np.sin(angles), np.cos(angles)], -1).reshape(*states.shape[:-1], -1)], -1
        )
        return features @ np.asarray(self.task.tip_rows).T / rod_length(self.task)


def rod_length(task: Task) -> float:
    """The unit of tip errors."""
    match task.system:
        case CartPole(length=length) | DoublePendulum(inner_length=length):
            return length
    raise TypeError(f"{type(task.system).__name__} has no rods")


def solved_seeds(name: str) -> tuple[int, ...]:
    """The stored seeds whose last trial swings up."""
    paths = STORED.glob(f"{name}_seed*.json")
    found = {int(path.stem.rpartition("seed")[2]): json.loads(path.read_text())["solved"] for path in paths}
    return tuple(sorted(seed for seed, solved in found.items() if solved[-1]))


def load_study(name: str, seed: int, observed: Sequence[int]) -> Study:
    """All trials but the last for training; the last one and replayed early ones for tests."""
    task = TASKS[name]
    path = STORED / f"{name}_seed{seed}.npz"
    if not path.exists():
        raise SystemExit(f"{path.name} is missing: run `python -m experiments.generate_pilco` first")
    trials = load_trials(path)
    simulated = as_simulated(task, trials, observed=observed)
    tests = [Test("last", simulated.episodes[-1], simulated.states[-1], trials[-1].outputs)]
    controlled = [trial for trial in trials if trial.policy is not None]
    for kind, first_key in (("policy", 1000), ("actions", 2000)):
        for i, (number, start) in enumerate(product((1, 2), range(NUM_EACH))):
            trial, key = controlled[number - 1], jr.key(first_key + seed)
            again = replay(task, trial.policy, i, actions=trial.actions if kind == "actions" else None, key=key)
            one = as_simulated(task, [again], observed=observed)
            tests.append(Test(f"{kind} {number} start {start + 1}", one.episodes[0], one.states[0], again.outputs))
    return Study(task, tuple(observed), simulated.episodes[:-1], tuple(tests))


def delayed(study: Study, lag: int) -> Study:
    """The same motion with actions recorded `lag` steps before they act."""
    if lag == 0:
        return study
    train = Episodes([_delayed(episode, lag) for episode in study.train])
    tests = tuple(Test(t.name, _delayed(t.episode, lag), t.states[:-lag], t.measured[:-lag]) for t in study.tests)
    return Study(study.task, study.observed, train, tests, lag)


def _delayed(episode: Episode, lag: int) -> Episode:
    return Episode(
        y=episode.y[:-lag],
        u=episode.u[lag:],
        dt=episode.dt,
        name=episode.name,
        output_names=episode.output_names,
        input_names=episode.input_names,
    )
