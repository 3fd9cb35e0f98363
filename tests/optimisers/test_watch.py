"""Held-out episodes act on training by Adam: it returns the step at which they were best explained."""

from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.fitting import History, Run
from gpssm.inference import BiRNN, Collapsed, MeanField, MonteCarlo
from gpssm.models import GPSSM
from gpssm.optimisers import _watch
from gpssm.optimisers._watch import Watch
from tests.fitting.test_checkpointed_fits import Killed, KillsAt
from tests.optimisers.small_task import EVERY, Task, equal, padded, sparse_model

BATCH = padded((4,), seed=0)
KEYS = (jr.key(0), jr.key(1))


def network_inference() -> MeanField:
    network = BiRNN.create(outputs=1, inputs=1, state_dim=1, hidden=3, skip=jnp.eye(1), key=jr.key(0))
    return MeanField(network, Collapsed(), MonteCarlo(1))


def trained_tree() -> tuple[GPSSM, MeanField]:
    """One of several that can be told apart by being another object."""
    return sparse_model(), network_inference()


@pytest.mark.parametrize(
    ("scores", "kept", "looks"),
    [
        ([0.0, 1.0, 0.5], 2, 2),
        ([0.0, 1.0, 0.95], 3, 3),
        ([0.0, 0.5, 1.0], 3, 3),
        ([1.0, np.nan, 0.5], 1, 1),
        ([np.nan, 1.0, 0.0], 2, 2),
        ([0.0, 1.0, np.nan], 3, 3),
        ([np.nan, np.nan], 2, 2),
    ],
    ids=["fell", "fell a little", "rose", "NaN between", "NaN first", "NaN last", "NaN only"],
)
def test_the_best_step_is_kept_where_the_bound_has_fallen(monkeypatch, scores, kept, looks):
    told = iter(scores)
    monkeypatch.setattr(_watch, "finish", lambda tree, data, key: (tree, True))
    monkeypatch.setattr(_watch, "held_out_bound", lambda tree, held_out, key: next(told))
    first, *trees = [trained_tree() for _ in range(len(scores) + 1)]
    history, watch = History(10.0), Watch(BATCH, first)
    for step, tree in enumerate(trees, start=1):
        watch.look(tree, BATCH, 200 * step, 200 * len(scores), history, KEYS)
        watch.look(first, BATCH, 200 * step + 50, 10_000, history, KEYS)  # not due
    tree, event = watch.kept(trees[-1], history)
    assert tree is trees[kept - 1]
    assert (event is None) == (kept == len(scores))
    assert len(history.held_out) == looks, "what is kept has not seen the rest"


def test_without_held_out_episodes_nothing_is_kept_beside_the_state():
    first, last = trained_tree(), trained_tree()
    watch = Watch(None, first)
    watch.look(last, BATCH, 200, 200, History(1.0), KEYS)
    assert watch.stored("state") == "state" and watch.restored("state") == "state"
    tree, event = watch.kept(last, History(1.0))
    assert tree is last and event is None


@pytest.mark.system
def test_a_fit_that_was_killed_after_its_best_step_still_goes_back_to_it(monkeypatch, tmp_path: Path):
    """Three looks, of which the first is the best; killed after the second."""
    task = Task(sparse_model(), network_inference(), padded((12, 9), seed=0))
    held_out, adam = padded((12,), seed=1), task.adam(3 * EVERY)
    monkeypatch.setattr(_watch, "WATCH_EVERY", EVERY)

    def trained(scores: list[float], run: Run):
        told = iter(scores)
        monkeypatch.setattr(_watch, "held_out_bound", lambda tree, batch, key: next(told))
        return task.train(adam, run=run, held_out=held_out, key=jr.key(1))

    whole = trained([1.0, 0.5, 0.0], Run())
    assert any("went back to that step" in event for event in whole.history.events)
    assert whole.history.held_out == [(EVERY, 1.0)]
    rising = trained([0.0, 0.5, 1.0], Run())
    assert not equal(whole.model, rising.model)
    keeper = gpssm.Checkpoints(tmp_path, every_steps=1)
    with pytest.raises(Killed), keeper.open({}) as store:
        trained([1.0, 0.5, 0.0], Run(KillsAt(3 * EVERY), store))
    with replace(keeper).open({}) as store:
        again = trained([0.0], Run(store=store))
    assert equal(whole.model, again.model)
