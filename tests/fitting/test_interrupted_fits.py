"""Fits that are interrupted by real signals. That each method keeps its best so far: see the conformance suite."""

import signal
import threading
from dataclasses import dataclass, field

import jax.random as jr
import numpy as np
import pytest
from jaxtyping import PRNGKeyArray

import gpssm
from gpssm._core._history import History
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run, Status
from gpssm.fitting._interrupt import InterruptedFitError, Interruption
from gpssm.optimisers import LBFGS, AbstractOptimiser
from tests.fitting.test_interrupt import press
from tests.optimisers.small_task import EVERY, Listening, Task, equal, finite, small_episodes

STEPS = 10


class Patient(AbstractMethod):
    """Takes ten steps, each with a sign of life and a safe point, and counts them in its history."""

    @property
    def deterministic(self) -> bool:
        return True

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        stage, history, result = run.stage("wait"), History(1.0), gpssm.Result.finished
        try:
            for step in range(STEPS):
                history.bound = np.append(history.bound, float(step))
                stage.update(Status("wait", step + 1, STEPS, 0.0, 1.0))
                stage.check()
        except InterruptedFitError:
            result = gpssm.Result.interrupted
        made = gpssm.Constant().fit(data, run, key=key)
        return Fit.of(made.system, self, result, history)


@dataclass
class Pressing:
    """Presses Ctrl-C at some steps."""

    at: tuple[int, ...]
    messages: list[str] = field(default_factory=list)

    def update(self, status: Status) -> None:
        if status.step in self.at:
            press()

    def say(self, message: str) -> None:
        self.messages.append(message)


class Twice(Pressing):
    """Presses twice."""

    def update(self, status: Status) -> None:
        super().update(status)
        super().update(status)


class Raising(Pressing):
    """Raises what Ctrl-C raises where nobody listens to signals."""

    def update(self, status: Status) -> None:
        if status.step in self.at:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def records() -> gpssm.Episodes:
    return small_episodes((40, 40), seed=0)


def test_a_fit_stops_at_the_next_safe_point_and_puts_the_handler_back(records):
    handler, progress = signal.getsignal(signal.SIGINT), Pressing((4,))
    made = gpssm.fit(records, Patient(), progress=progress)
    assert made.result is gpssm.Result.interrupted
    assert len(made.history.bound) == 4
    assert signal.getsignal(signal.SIGINT) is handler
    assert sum("Interrupted" in message for message in progress.messages) == 1


def test_it_is_an_error_for_those_who_ask(records):
    with pytest.raises(gpssm.FitError, match="interrupted"):
        gpssm.fit(records, Patient(), progress=Pressing((4,)), throw=True)


def test_the_second_leaves_the_fit_at_once(records):
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        gpssm.fit(records, Patient(), progress=Twice((4,)))
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_fit_in_another_thread_leaves_signals_alone(records):
    made: list[Fit] = []
    thread = threading.Thread(target=lambda: made.append(gpssm.fit(records, Patient(), progress=gpssm.Silent())))
    thread.start()
    thread.join()
    assert made[0].result is gpssm.Result.finished


FITS: list[int] = []


class PressesInItsThirdFit(AbstractMethod):
    """A constant; Ctrl-C comes while it is fitted for the third time."""

    @property
    def deterministic(self) -> bool:
        return True

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        FITS.append(len(FITS))
        if len(FITS) == 3:
            press()
        return gpssm.Constant().fit(data, run, key=key)


def test_a_selection_ends_with_the_trials_that_were_made(records):
    FITS.clear()
    told = Listening()
    candidates = {"constant": gpssm.Constant(), "pressing": PressesInItsThirdFit(), "never": Patient()}
    found = gpssm.select(candidates, records, seeds=1, num_samples=10, progress=told, seed=0)
    assert found.interrupted
    assert {trial.candidate for trial in found.trials} == {"constant", "pressing"}
    assert sum(trial.candidate == "pressing" for trial in found.trials) == 3, "the one that heard it is not thrown away"
    assert [bool(row.failed) for row in found.rows()] == [False, True, True]
    assert found.winner == "constant" and found.method == gpssm.Constant()
    assert "interrupted" in found.table()
    assert any("Interrupted" in message for message in told.messages)


def test_a_selection_that_nobody_interrupts_says_so(records):
    found = gpssm.select({"constant": gpssm.Constant()}, records, seeds=1, num_samples=10, seed=0)
    assert not found.interrupted


@pytest.mark.parametrize("kind", ["Adam", "LBFGS"])
def test_the_second_during_a_search_leaves_it_and_adam_leaves_a_checkpoint(task: Task, kind: str, tmp_path):
    """Searches catch Ctrl-C where nobody else does; the second must get through them."""
    optimiser: AbstractOptimiser = task.adam(4 * EVERY) if kind == "Adam" else LBFGS(20)

    with gpssm.Checkpoints(tmp_path / "c", every_seconds=1e6).open({}) as store:
        progress = Twice((2 * EVERY, 3))
        with pytest.raises(KeyboardInterrupt), Interruption(progress.say) as interruption:
            task.train(optimiser, run=Run(progress, store, interruption=interruption), key=jr.key(0))
    assert bool(list((tmp_path / "c").glob("train-*.ckpt"))) is (kind == "Adam")


def test_it_does_not_matter_how_the_end_was_asked_for(task: Task):
    """A signal, and an exception in the progress, end at the same step with the same numbers."""
    ends = []
    for progress in (Pressing((EVERY,)), Raising((EVERY,))):
        with Interruption(progress.say) as interruption:
            ends.append(task.train(task.adam(4 * EVERY), run=Run(progress, interruption=interruption), key=jr.key(0)))
    assert [end.result for end in ends] == [gpssm.Result.interrupted] * 2
    assert len(ends[0].history.bound) == EVERY and finite(ends[0].tree)
    assert equal(ends[0].tree, ends[1].tree)
