"""What every method must do: fit, repeat, stop, go on, save, report, compare, and never look ahead."""

import os
import signal
import time
from collections import Counter
from functools import cache
from pathlib import Path

import jax
import numpy as np
import pytest

import gpssm
from gpssm import methods
from gpssm._core import _rounds
from gpssm.fitting import Fit, Status
from tests.methods.cases import CASES, held_out, records

QUICK = {"constant", "arx", "subspace", "per step", "mixture"}
"""One of each kind. The others repeat most of what these do, and take their time in `make test-system`."""
NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.system) for name in CASES]
QUIET = {"progress": gpssm.Silent()}


@cache
def timed(name: str) -> tuple[Fit, float]:
    """A fit, and the seconds that it took."""
    began = time.monotonic()
    return gpssm.fit(records(), CASES[name], seed=3, **QUIET), time.monotonic() - began


def fitted(name: str) -> Fit:
    return timed(name)[0]


def run_of(fit: Fit, **options) -> np.ndarray:
    return fit.system.simulate(held_out()[0], n_init=6, num_samples=8, seed=1, **options).samples


class Watcher:
    """Counts the signs of life of each stage of a fit, and does something at one of them."""

    def __init__(self, at: str | None = None, do=lambda: None, *, sign: int = 1):
        self.stages: Counter[str] = Counter()
        self.said: list[tuple[float, str]] = []
        self._at, self._do, self._sign = at, do, sign
        self.done: float | None = None

    def update(self, status: Status) -> None:
        self.stages[status.stage] += 1
        if status.stage == self._at and self.stages[status.stage] == self._sign:
            self.done = time.monotonic()
            self._do()

    def say(self, message: str) -> None:
        self.said.append((time.monotonic(), message))


class Killed(BaseException):
    """Ends a fit as a kill would: nobody is prepared for it."""


def kill() -> None:
    raise Killed


@cache
def stages(name: str) -> dict[str, int]:
    """The stages of a fit in their order, and how many signs of life each gives."""
    watcher = Watcher()
    gpssm.fit(records(), CASES[name], seed=3, progress=watcher)
    return dict(watcher.stages)


def test_every_method_has_a_case():
    public = {getattr(methods, name) for name in methods.__all__}
    known = {kind for kind in public if isinstance(kind, type) and issubclass(kind, methods.AbstractMethod)}
    assert known - {methods.AbstractMethod} == {type(method) for method in CASES.values()}


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_is_finished_and_can_be_used(name: str):
    fit = fitted(name)
    assert fit.result.good
    assert fit.method is CASES[name]
    assert fit.system.history is fit.history
    assert run_of(fit).shape == (8, 24, 1)
    assert np.isfinite(run_of(fit)).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_tells_no_more_seconds_than_it_took(name: str):
    fit, took = timed(name)
    assert 0.0 <= fit.history.seconds <= took


@pytest.mark.parametrize("name", NAMES)
def test_methods_are_frozen_comparable_and_printable(name: str):
    method = CASES[name]
    assert method == method and method != gpssm.Linear(7)
    assert type(method).__name__ in repr(method)
    with pytest.raises((AttributeError, TypeError)):
        method.states = 9  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bits(name: str):
    again = gpssm.fit(records(), CASES[name], seed=3, **QUIET)
    np.testing.assert_array_equal(run_of(again), run_of(fitted(name)))


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_predicts_the_same_bits(name: str, tmp_path: Path):
    gpssm.save(fitted(name), tmp_path / "m.gpssm")
    loaded = gpssm.load(tmp_path / "m.gpssm")
    samples = loaded.simulate(held_out()[0], n_init=6, num_samples=8, seed=1).samples
    np.testing.assert_array_equal(samples, run_of(fitted(name)))
    told = gpssm.describe(tmp_path / "m.gpssm")
    assert told["settings"]["method"] == str(CASES[name]) and told["output_names"] == ["level"]


@pytest.mark.parametrize("name", NAMES)
def test_a_free_run_does_not_see_what_it_predicts(name: str):
    record = held_out()[0]
    other = gpssm.Episode(
        y=np.concatenate([record.y_with_nan[:6], 99.0 + np.zeros((24, 1))]),
        u=record.u,
        dt=record.dt,
        output_names=record.output_names,
        input_names=record.input_names,
    )
    changed = fitted(name).system.simulate(other, n_init=6, num_samples=8, seed=1).samples
    np.testing.assert_array_equal(changed, run_of(fitted(name)))


@pytest.mark.parametrize(
    "name", ["arx", *(pytest.param(name, marks=pytest.mark.system) for name in ("network", "mixture"))]
)
def test_reports_and_comparisons_take_it(name: str, tmp_path: Path):
    report = gpssm.report(fitted(name), held_out(), tmp_path / "page.html", seed=0)
    found = gpssm.compare([(name, fitted(name))], held_out(), seed=0)
    assert (tmp_path / "page.html").stat().st_size > 1000
    assert found.entries[0].scores[-1].facts() == report.free_run.facts()


@pytest.mark.system
@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_in_any_stage_keeps_the_best_so_far(name: str):
    before = signal.getsignal(signal.SIGINT)
    for stage in stages(name):
        watcher = Watcher(stage, lambda: os.kill(os.getpid(), signal.SIGINT))
        fit = gpssm.fit(records(), CASES[name], seed=3, progress=watcher)
        heard = [at for at, message in watcher.said if message.startswith("Interrupted")]
        assert heard and watcher.done is not None and heard[0] - watcher.done < 1.0, stage
        # The last sign of life of a short stage may come when nothing is left to interrupt.
        assert fit.result in (gpssm.Result.interrupted, gpssm.Result.finished), stage
        assert fit.result is gpssm.Result.interrupted or stage == list(stages(name))[-1], stage
        assert np.isfinite(run_of(fit)).all(), stage
        assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.system
@pytest.mark.parametrize("name", NAMES)
def test_a_killed_fit_goes_on_to_the_same_bits(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # A few iterations are enough for several rounds.
    monkeypatch.setattr(_rounds, "ROUND", 3)
    unbroken = gpssm.fit(records(), CASES[name], seed=3, **QUIET)
    # Counted anew: with other rounds there may be more or fewer signs of life.
    for i, (stage, signs) in enumerate(stages.__wrapped__(name).items()):
        folder = gpssm.Checkpoints(tmp_path / str(i), every_steps=1)
        # At its last sign of life a stage has left checkpoints behind, but no end.
        with pytest.raises(Killed):
            watcher = Watcher(stage, kill, sign=signs)
            gpssm.fit(records(), CASES[name], seed=3, progress=watcher, checkpoints=folder)
        resumed = gpssm.fit(records(), CASES[name], seed=3, checkpoints=folder, **QUIET)
        np.testing.assert_array_equal(run_of(resumed), run_of(unbroken), err_msg=stage)
        assert resumed.result is unbroken.result


@pytest.mark.system
def test_other_data_are_refused_by_a_folder_of_checkpoints(tmp_path: Path):
    folder = gpssm.Checkpoints(tmp_path / "run", every_steps=1)
    with pytest.raises(Killed):
        gpssm.fit(records(), CASES["network"], seed=3, progress=Watcher("Adam", kill, sign=2), checkpoints=folder)
    with pytest.raises(ValueError, match="training data"):
        gpssm.fit(records(extra=1), CASES["network"], seed=3, checkpoints=folder, **QUIET)
    with pytest.raises(ValueError, match="method"):
        gpssm.fit(records(), gpssm.Linear(2), seed=3, checkpoints=folder, **QUIET)


def test_the_caller_keeps_his_precision():
    with jax.enable_x64(False):
        fit = gpssm.fit(records(), CASES["linear"], seed=3, **QUIET)
        np.testing.assert_array_equal(run_of(fit), run_of(fitted("linear")))
