"""Fits that go on from checkpoints: to the same bits, never from those of another fit, and whatever the disk does.

That each method goes on after a kill: see the conformance suite. Real kills: see `tests.faults`.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jaxtyping import PRNGKeyArray

import gpssm
from gpssm._core import _rounds
from gpssm._core._errors import ResumeError
from gpssm._core._history import History
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run, Status, _session
from gpssm.inference import Explicit, GaussHermite, MeanField
from gpssm.optimisers import LBFGS, AbstractOptimiser, Rates, Trained
from gpssm.pools import ProcessPool, Serial
from tests.faults.disk import faulty_disk
from tests.optimisers.small_task import EVERY, Listening, Task, equal, small_episodes
from tests.optimisers.test_failures import poisoned


class Killed(BaseException):
    """Ends a fit as a kill would: nobody is prepared for it."""


@dataclass
class KillsAt:
    """Ends the fit when it hears of a step."""

    step: int

    def update(self, status: Status) -> None:
        if status.step >= self.step:
            raise Killed

    def say(self, message: str) -> None:
        """Nothing."""


@contextmanager
def opened(folder: Path, **options) -> Iterator[Run]:
    """A run that keeps its state whenever it can."""
    with gpssm.Checkpoints(folder, **{"every_steps": 1, **options}).open({}) as store:
        yield Run(store=store)


def killed_and_resumed(task: Task, optimiser: AbstractOptimiser, step: int, folder: Path) -> Trained:
    with pytest.raises(Killed), gpssm.Checkpoints(folder, every_steps=1).open({}) as store:
        task.train(optimiser, run=Run(KillsAt(step), store), key=jr.key(1))
    with opened(folder) as run:
        return task.train(optimiser, run=run, key=jr.key(1))


def went_on_at(done: Trained) -> list[int]:
    return [int(event.split()[-1]) for event in done.history.events if "went on from the checkpoint" in event]


@pytest.fixture(scope="module")
def quadrature(task: Task) -> Task:
    """The task with a bound that L-BFGS can climb."""
    return Task(task.model, MeanField(task.inference.recognition, Explicit(), GaussHermite(3)), task.data)


def test_adam_goes_on_to_the_same_bits(task: Task, tmp_path: Path):
    whole = task.train(task.adam(4 * EVERY), key=jr.key(1))
    again = killed_and_resumed(task, task.adam(4 * EVERY), 3 * EVERY, tmp_path / "c")
    assert went_on_at(again) == [2 * EVERY]
    assert equal(again.tree, whole.tree)
    np.testing.assert_array_equal(again.history.bound, whole.history.bound)
    np.testing.assert_array_equal(again.history.gradient_norm, whole.history.gradient_norm)
    assert again.result is whole.result


def test_adam_goes_on_with_the_rate_that_a_nan_had_left(task: Task, tmp_path: Path):
    unlucky = poisoned(task, 0.02, steps=4 * EVERY)
    whole = task.train(unlucky, key=jr.key(1))
    again = killed_and_resumed(task, unlucky, 3 * EVERY, tmp_path / "c")
    assert any("halved" in event for event in whole.history.events), "the test wants a NaN"
    assert equal(again.tree, whole.tree)
    np.testing.assert_array_equal(again.history.bound, whole.history.bound)


def test_a_finished_stage_is_not_repeated(task: Task, tmp_path: Path):
    with opened(tmp_path / "c") as run:
        first = task.train(task.adam(2 * EVERY), run=run, key=jr.key(1))
    with gpssm.Checkpoints(tmp_path / "c").open({}) as store:
        # Any sign of life would end it.
        again = task.train(task.adam(2 * EVERY), run=Run(KillsAt(0), store), key=jr.key(1))
    assert equal(again.tree, first.tree)
    assert again.history.events == first.history.events and again.result is first.result


@pytest.mark.parametrize(("length", "killed_at"), [(150, 2), (150, 7), (3, 2), (3, 3), (3, 4), (3, 6), (3, 7)])
def test_lbfgs_goes_on_within_a_round(quadrature: Task, length: int, killed_at: int, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(_rounds, "ROUND", length)
    whole = quadrature.train(LBFGS(8), key=jr.key(1))
    again = killed_and_resumed(quadrature, LBFGS(8), killed_at, tmp_path / "c")
    assert went_on_at(again) == [killed_at - 1]
    assert equal(again.tree, whole.tree)
    np.testing.assert_array_equal(again.history.bound, whole.history.bound)
    assert again.result is whole.result
    # The gain is told from the very first point, not from that of a later round.
    assert again.history.events[-1] == whole.history.events[-1]


def test_a_search_twice_broken_off_loses_nothing(quadrature: Task, tmp_path: Path):
    whole = quadrature.train(LBFGS(8), key=jr.key(1))
    with pytest.raises(Killed), opened(tmp_path / "c") as run:
        quadrature.train(LBFGS(8), run=replace(run, progress=KillsAt(4)), key=jr.key(1))
    again = killed_and_resumed(quadrature, LBFGS(8), 7, tmp_path / "c")
    assert went_on_at(again) == [3, 6]
    assert equal(again.tree, whole.tree)
    np.testing.assert_array_equal(again.history.bound, whole.history.bound)


@contextmanager
def full_disk() -> Iterator[None]:
    """Every write is refused."""

    def refuse() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with faulty_disk(0, refuse, always=True):
        yield


@pytest.mark.parametrize("kind", ["Adam", "LBFGS"])
def test_a_full_disk_never_stops_training(task: Task, quadrature: Task, kind: str, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(_rounds, "ROUND", 3)
    optimiser, problem = (task.adam(2 * EVERY), task) if kind == "Adam" else (LBFGS(8), quadrature)
    told = Listening()
    with gpssm.Checkpoints(tmp_path / "c", every_steps=1).open({}) as store, full_disk():
        done = problem.train(optimiser, run=Run(told, store), key=jr.key(1))
    assert equal(done.tree, problem.train(optimiser, key=jr.key(1)).tree)
    said = [event for event in done.history.events if "the disk is full" in event]
    assert len(said) == 1 and said[0] in told.messages
    assert not list((tmp_path / "c").glob("*.ckpt"))


class Writes(AbstractMethod):
    """Writes a checkpoint, and predicts a constant."""

    size: int = 3
    rates: Rates = Rates()

    @property
    def deterministic(self) -> bool:
        return True

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        run.stage("write").write({"at": jnp.zeros(self.size)}, 1, History(1.0))
        return gpssm.Constant().fit(data, run, key=key).by(self)


RECORDS = small_episodes((20, 20), seed=0)
EARLIER = gpssm.Constant()


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({}, None),
        ({"method": Writes(size=4)}, r"size \(3 then, 4 now\)"),
        ({"method": Writes(rates=Rates(noise=0.5))}, r"rates \(Rates"),
        ({"data": small_episodes((20, 20), seed=1)}, "training data"),
        ({"validation": small_episodes((20,), seed=1)}, "held-out data"),
        ({"seed": 1}, r"key \(threefry2x32 \[0, 0\] then, threefry2x32 \[0, 1\] now\)"),
        ({"scaler": gpssm.Scaler.from_episodes(small_episodes((20,), seed=1))}, "scaler"),
    ],
    ids=["nothing", "a setting", "a nested setting", "data", "validation", "seed", "scaler"],
)
def test_checkpoints_of_another_fit_are_refused_and_the_difference_named(changed, named, tmp_path: Path):
    settings = {"data": RECORDS, "method": Writes(), "seed": 0, "checkpoints": gpssm.Checkpoints(tmp_path / "c")}
    settings["progress"] = gpssm.Silent()
    gpssm.fit(**settings)
    if named is None:
        gpssm.fit(**settings)
        return
    with pytest.raises(ResumeError, match=f"What differs: .*{named}"):
        gpssm.fit(**{**settings, **changed})


def test_another_start_is_named(tmp_path: Path):
    made = [gpssm.fit(small_episodes((20, 20), seed=s), EARLIER, progress=gpssm.Silent()) for s in (0, 1)]
    settings = {"checkpoints": gpssm.Checkpoints(tmp_path / "c"), "progress": gpssm.Silent(), "method": Writes()}
    for _ in range(2):
        gpssm.fit(RECORDS, start=made[0], **settings)
    with pytest.raises(ResumeError, match="start"):
        gpssm.fit(RECORDS, start=made[1], **settings)


def test_another_method_is_named(tmp_path: Path):
    folder = gpssm.Checkpoints(tmp_path / "c")
    gpssm.fit(RECORDS, Writes(), checkpoints=folder, progress=gpssm.Silent())
    with pytest.raises(ResumeError, match=r"method \(Writes then, Constant now\)"):
        gpssm.fit(RECORDS, gpssm.Constant(), checkpoints=folder, progress=gpssm.Silent())


def test_who_goes_on_may_have_other_processes():
    """The bits are the same in however many, but not with other threads, nor in this process."""
    data = Prepared.of(RECORDS)
    pools = [ProcessPool(2), ProcessPool(3), ProcessPool(2, threads=2), Serial()]
    for around in (lambda method: method, gpssm.methods.Direct, lambda method: method.then(gpssm.ARX(1))):
        for made in (lambda pool: gpssm.Auto(2, pool=pool), lambda pool: gpssm.Restarts(gpssm.ARX(1), 2, pool=pool)):
            two, three, others, serial = (_session._settings(around(made(pool)), data) for pool in pools)
            assert two == three
            assert two != others and two != serial
