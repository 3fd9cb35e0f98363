"""NaN where a fit is not being searched for: while a network follows the model, and while models are scored.

Each fault survives if the model is as it was, everything returned is finite, somebody is told, and no model that
predicts NaN is preferred to one that does not.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest import mock

import equinox as eqx
import jax
import jax.random as jr
import numpy as np

import gpssm
from gpssm.evaluate import _judge, _trial
from gpssm.fitting import Fit, Prepared, Run
from gpssm.methods import _variational
from gpssm.methods._q_x import reader_of
from gpssm.optimisers import Adam, _watch
from tests.faults.broken_numbers import _BREAKING, _gradients_break
from tests.optimisers.small_task import EVERY, finite
from tests.reference.small_system import record, records

STEPS = 2 * EVERY


@cache
def _fitted() -> Fit:
    method = gpssm.Variational(gpssm.ModelSpec(1, num_inducing=6), q_x=gpssm.Network(4), optimiser=Adam(EVERY))
    return gpssm.fit(records(), method, progress=gpssm.Silent(), seed=0)


def nan_in_the_network_stage(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """NaN in every gradient for some steps of the network that learns to read states as a polished model means
    them."""
    made = _fitted()
    network, before = reader_of(made), _arrays(made.system.model)  # pyright: ignore
    assert network is not None
    for _ in range(count):
        first = int(rng.integers(STEPS))
        with (
            jax.enable_x64(True),
            mock.patch.object(_variational, "Adam", lambda steps: Adam(steps, transformation=_BREAKING)),
            _gradients_break(first, first + int(rng.integers(1, STEPS))),
        ):
            done = _variational.distilled(made, network, STEPS, Prepared.of(records()), Run(), key=jr.key(0))
        assert isinstance(done.system, gpssm.System)
        same = all(map(np.array_equal, before, _arrays(done.system.model)))
        told = any("network" in event and "NaN" in event for event in done.history.events)
        yield same and told and finite(done.system.recognition) and done.result is made.result


def nan_in_scoring(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """NaN in turn in the score that a fit watches, in a page's score, and in what candidates are compared by."""
    kinds = (_watched, _judged, _compared)
    for i in range(count):
        yield kinds[i % len(kinds)](rng)


def _watched(rng: np.random.Generator) -> bool:
    look, bad = _watch.held_out_bound, int(rng.integers(2))
    with mock.patch.object(_watch, "WATCH_EVERY", EVERY), mock.patch.object(_watch, "held_out_bound") as watched:
        watched.side_effect = lambda *a, **k: np.nan if watched.call_count - 1 == bad else look(*a, **k)
        method = gpssm.Variational(gpssm.ModelSpec(1, num_inducing=6), q_x=gpssm.Network(4), optimiser=Adam(STEPS))
        made = gpssm.fit(records(), method, validation=gpssm.Episodes([record(30, seed=8)]), progress=gpssm.Silent())
    assert isinstance(made.system, gpssm.System)
    scores = np.isfinite([score for _, score in made.history.held_out]).tolist()
    return made.result.good and finite(made.system.model) and scores == [i != bad for i in range(2)]


def _judged(rng: np.random.Generator) -> bool:
    good = gpssm.judge(_fitted().system, gpssm.Episodes([record(30, seed=8)]), seed=0).free_run
    with _poisoned(_judge, rng):
        bad = gpssm.judge(_fitted().system, gpssm.Episodes([record(30, seed=8)]), seed=0).free_run
    return np.isfinite(good.log_density) and bad.poor and not bad.log_density > good.log_density


def _compared(rng: np.random.Generator) -> bool:
    methods = {"broken": gpssm.ARX(1), "constant": gpssm.Constant()}
    with _poisoned(_trial, rng, only="broken"):
        choice = gpssm.select(methods, records(), seeds=1, n_init=4, progress=gpssm.Silent(), seed=0)
    return choice.winner == "constant" and "broken" in choice.table()


def _poisoned(module, rng: np.random.Generator, only: str | None = None):
    """Free runs within have NaN in all trajectories at some step."""
    run = module._free_runs

    def broken(system, task, *args):
        runs = run(system, task, *args)
        return runs if only is not None and task.name != only else type(runs)(_with_nan(one, rng) for one in runs)

    return mock.patch.object(module, "_free_runs", broken)


def _with_nan(rollout: gpssm.Rollout, rng: np.random.Generator) -> gpssm.Rollout:
    at = int(rng.integers(rollout.signals.shape[1]))
    parts = {name: np.array(getattr(rollout, name)) for name in ("signals", "samples")}
    for values in parts.values():
        values[:, at] = np.nan
    return replace(rollout, **parts)


def _arrays(tree) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]
