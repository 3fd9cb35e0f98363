"""Recorded trials on disk, and as episodes for identification."""

import importlib.metadata
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from gpssm.control._pilco import Trial
from gpssm.control._policy import RBFPolicy
from gpssm.control._task import Task
from gpssm.data import Episodes
from gpssm.systems import Simulated

_RECORDED = ("outputs", "states", "actions", "costs", "distances")
_POLICY = ("centres", "targets", "log_lengthscales")


def save_trials(path: Path, trials: Sequence[Trial]) -> None:
    """Write all trials of one run into one NPZ file; an interruption leaves the previous file intact."""
    arrays = {name: np.stack([getattr(trial, name) for trial in trials]) for name in _RECORDED}
    policies = [trial.policy for trial in trials if trial.policy is not None]
    arrays |= {f"policy_{name}": np.stack([getattr(p, name) for p in policies]) for name in _POLICY if policies}
    arrays["expected_cost"] = np.array([np.nan if t.expected_cost is None else t.expected_cost for t in trials])
    partial = path.with_suffix(".partial.npz")
    np.savez_compressed(partial, allow_pickle=False, **arrays)
    os.replace(partial, path)


def load_trials(path: Path) -> list[Trial]:
    """Read back what `save_trials` wrote, bit for bit. Trials without an expected cost acted at random."""
    with np.load(path, allow_pickle=False) as stored, jax.enable_x64(True):
        expected = stored["expected_cost"]
        random = np.isnan(expected)
        policies = iter(range(int((~random).sum())))
        trials = []
        for i in range(len(expected)):
            policy = None
            if not random[i]:
                k = next(policies)
                policy = RBFPolicy(**{name: jnp.asarray(stored[f"policy_{name}"][k]) for name in _POLICY})
            trials.append(
                Trial(
                    **{name: stored[name][i] for name in _RECORDED},
                    policy=policy,
                    expected_cost=None if random[i] else float(expected[i]),
                )
            )
    return trials


def save_summary(path: Path, task: Task, trials: Sequence[Trial], *, seed: int) -> None:
    """Write seed, versions, settings and outcome of a run as JSON."""
    solved = [trial.solved(task) for trial in trials]
    summary = {
        "system": type(task.system).__name__,
        "seed": seed,
        "trials": len(trials),
        "complete": len(trials) == task.num_trials,
        "solved": solved,
        "first_solved_trial": solved.index(True) if any(solved) else None,
        "mean_cost": [float(trial.costs.mean()) for trial in trials],
        "expected_cost": [trial.expected_cost for trial in trials],
        "largest_final_distance": [float(trial.distances[-task.solved_steps :].max()) for trial in trials],
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "numpy", "scipy")},
        "task": asdict(task),
    }
    partial = path.with_suffix(".partial.json")
    partial.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    os.replace(partial, path)


def as_simulated(task: Task, trials: Sequence[Trial], *, observed: Sequence[int] | None = None) -> Simulated:
    """The trials as episodes in which only the states listed in `observed` (default: all) are measured."""
    chosen = list(range(len(task.system.state_names)) if observed is None else observed)
    return Simulated(
        episodes=Episodes.from_arrays(
            y=[trial.outputs[:, chosen] for trial in trials],
            u=[trial.actions for trial in trials],
            dt=task.system.dt,
            output_names=[task.system.state_names[i] for i in chosen],
            input_names=task.system.action_names,
        ),
        states=tuple(trial.states for trial in trials),
    )
