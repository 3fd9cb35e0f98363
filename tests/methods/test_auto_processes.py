"""`Auto` in processes: the same model as one after the other, and nothing lost with what is broken off or dies."""

from dataclasses import replace

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm._core._interrupt import InterruptedFitError
from gpssm.fitting import AbstractMethod, Prepared, Run
from gpssm.methods import _tried
from gpssm.pools import AbstractPool, Lost, ProcessPool, Serial
from tests.methods.test_auto import driven, linear
from tests.optimisers.small_task import Listening


class AtOnce(AbstractPool):
    """All tasks in this process, in the opposite order; the first one is lost if `loses`."""

    def __init__(self, loses: bool = False):
        self.loses = loses

    def run(self, function, tasks):
        for i in reversed(range(len(tasks))):
            yield i, Lost("no memory") if self.loses and i == 0 else function(tasks[i])


def tried_of(data: gpssm.Episodes, told: Listening) -> _tried.Tried:
    folds, n_init = _tried.stretches(data)
    return _tried.Tried.of(folds, n_init, Prepared.of(data), Run(told), jr.key(0))


def test_side_by_side_is_as_one_after_the_other():
    data, outcomes = driven(linear, 100), []
    methods = {"arx 1": gpssm.ARX(1), "linear": gpssm.Subspace(2), "too many": gpssm.ARX(90), "arx 2": gpssm.ARX(2)}
    for pool in (Serial(), AtOnce()):
        tried = tried_of(data, Listening())
        tried.attempt_each(methods, pool)
        assert list(tried.trials) == list(methods)
        outcomes.append([tuple(replace(t, held_out=None, score=None) for t in ts) for ts in tried.trials.values()])
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][2][0].failed and not outcomes[0][3][0].failed, "a failure does not end the others"


def test_what_would_not_have_been_tried_is_dropped():
    data, methods = driven(linear, 100), {f"arx {n}": gpssm.ARX(n) for n in (1, 2, 3)}
    for pool in (Serial(), AtOnce()):
        tried = tried_of(data, Listening())
        tried.attempt_each(methods, pool, until=lambda name: name == "arx 2")
        assert list(tried.trials) == list(tried.methods) == ["arx 1", "arx 2"]


def test_a_process_that_dies_is_a_failure_of_its_method():
    tried = tried_of(driven(linear, 100), told := Listening())
    tried.attempt_each({"arx 1": gpssm.ARX(1), "arx 2": gpssm.ARX(2)}, AtOnce(loses=True))
    assert tried.trials["arx 1"][0].failed == "no memory" and "arx 1" not in tried.fits
    assert "arx 1: failed: no memory" in told.messages
    assert not tried.trials["arx 2"][0].failed


@pytest.mark.system
def test_the_model_is_the_same_in_however_many_processes():
    gp = gpssm.Polished(num_inducing=6, hidden=2, steps=20, iterations=3, network_steps=0)
    data, made = driven(lambda y, u: 0.9 * np.tanh(2.0 * y) + 0.4 * u, 240, seed=5), []
    for pool in (Serial(), ProcessPool(2)):
        made.append(gpssm.fit(data, gpssm.Auto(2, gp=gp, pool=pool), progress=gpssm.Silent(), seed=3))
    assert made[0].history.events == made[1].history.events
    runs = [fit.system.simulate(data[0], n_init=8, num_samples=4, seed=0).samples for fit in made]
    np.testing.assert_array_equal(*runs)


def test_what_had_come_before_ctrl_c_counts():
    tried = tried_of(driven(linear, 100), told := Listening())
    methods = {"arx 1": gpssm.ARX(1), "arx 2": gpssm.ARX(2), "arx 3": gpssm.ARX(3)}

    class Stops(AbstractPool):
        """Ctrl-C comes with the second answer."""

        def run(self, function, tasks):
            yield 0, function(tasks[0])
            tried.run.interruption.request()
            yield 1, function(tasks[1])

    with pytest.raises(InterruptedFitError):
        tried.attempt_each(methods, Stops())
    assert list(tried.fits) == ["arx 1", "arx 2"]
    assert "arx 2: 2 of 3 done" in told.messages


def test_ctrl_c_keeps_what_has_ended_before_what_was_asked_for_first():
    tried = tried_of(driven(linear, 100), Listening())

    class FirstIsSlow(AbstractPool):
        """Ctrl-C comes while the first task is under way."""

        def run(self, function, tasks):
            yield 1, function(tasks[1])
            tried.run.interruption.request()
            yield 2, function(tasks[2])

    with pytest.raises(InterruptedFitError):
        tried.attempt_each({f"arx {n}": gpssm.ARX(n) for n in (1, 2, 3)}, FirstIsSlow())
    assert list(tried.fits) == ["arx 2", "arx 3"]


def test_a_pool_that_does_not_work_is_no_failure_of_methods():
    """As in a script without `if __name__ == "__main__":`, whose processes die of importing it."""

    class Dead(AbstractPool):
        def run(self, function, tasks):
            yield from ((i, Lost("its process died")) for i in range(len(tasks)))

    tried = tried_of(driven(linear, 100), Listening())
    with pytest.raises(gpssm.FitError, match="__main__"):
        tried.attempt_each({"arx 1": gpssm.ARX(1), "arx 2": gpssm.ARX(2)}, Dead())
    # What was judged before is not lost with it.
    tried.attempt("constant", gpssm.Constant())
    tried.attempt_each({"arx 1": gpssm.ARX(1), "arx 2": gpssm.ARX(2)}, Dead())
    assert list(tried.fits) == ["constant"]
    assert "__main__" in str(tried.trials["arx 2"][0].failed)


class UntoldError(Exception):
    """Holds what cannot be sent to another process."""

    def __init__(self, why: str):
        super().__init__(why)
        self.telling = lambda: why


class Mistaken(AbstractMethod):
    @property
    def deterministic(self) -> bool:
        return True

    def fit(self, data, run, *, key):
        raise UntoldError("no such luck")


def test_a_mistake_that_cannot_travel_is_told_nevertheless():
    """It would pass for a process that has died."""
    tried = tried_of(driven(linear, 100), Listening())
    with pytest.raises(RuntimeError, match="UntoldError: no such luck"):
        tried.attempt_each({"arx 1": gpssm.ARX(1), "mistaken": Mistaken()}, AtOnce())
