"""Several starts: a first look at all of them, and processes that change nothing."""

from dataclasses import replace

import equinox as eqx
import jax
import numpy as np
import pytest

import gpssm
from gpssm.fitting import Fit, Prepared, Run
from gpssm.methods import AbstractMethod, Network, Then, Variational
from gpssm.methods._constant import Constant
from gpssm.methods._shortened import shortened
from gpssm.optimisers import LBFGS, Adam
from gpssm.pools import AbstractPool, Lost, ProcessPool
from tests.reference.small_system import record

SPEC = gpssm.ModelSpec(1, num_inducing=4)
METHOD = Variational(SPEC, q_x=Network(2), optimiser=Adam(100))


@pytest.fixture
def records() -> gpssm.Episodes:
    return gpssm.Episodes([record(20, seed=i) for i in range(2)])


class Counted(AbstractMethod):
    """A constant whose bound is known beforehand: that of a start depends on its key and on the steps it makes."""

    steps: int = 100
    seen: tuple = eqx.field(static=True, default=())

    @property
    def deterministic(self) -> bool:
        return False

    def fit(self, data: Prepared, run: Run, *, key) -> Fit:
        made = Constant().fit(data, run, key=key)
        draw = float(jax.random.uniform(key))
        self.seen[0].append((self.steps, draw))
        bound = np.array([draw + self.steps / 100])
        return replace(made, method=self, history=replace(made.history, bound=bound))


@shortened.register
def _(method: Counted, share: float) -> Counted:
    return replace(method, steps=round(share * method.steps))


def test_a_first_look_leaves_a_quarter_of_the_starts(records):
    seen: list = []
    made = gpssm.fit(records, gpssm.Restarts(Counted(seen=(seen,)), 8, look=0.1), progress=gpssm.Silent(), seed=4)
    looks, full = seen[:8], seen[8:]
    assert [steps for steps, _ in looks] == [10] * 8 and [steps for steps, _ in full] == [100] * 2
    best = sorted((draw for _, draw in looks), reverse=True)[:2]
    assert {draw for _, draw in full} == set(best), "from the same keys"
    assert made.bound == pytest.approx(best[0] + 1.0)
    assert len(made.parts) == 2


def test_without_a_look_every_start_is_fitted_in_full(records):
    seen: list = []
    gpssm.fit(records, gpssm.Restarts(Counted(seen=(seen,)), 3), progress=gpssm.Silent(), seed=4)
    assert [steps for steps, _ in seen] == [100] * 3 and len(set(seen)) == 3


def test_methods_are_shortened_by_their_steps():
    assert shortened(METHOD, 0.1) == replace(METHOD, optimiser=Adam(10))
    polish = Variational(SPEC, optimiser=LBFGS(150))
    assert shortened(Then(METHOD, polish), 0.1) == Then(
        replace(METHOD, optimiser=Adam(10)), replace(polish, optimiser=LBFGS(15))
    )
    short = shortened(gpssm.Polished(2, steps=800, iterations=150), 0.05)
    assert short == gpssm.Polished(2, steps=40, iterations=8, network_steps=0, tries=1)
    assert shortened(gpssm.Polished(2, iterations=0), 0.5).iterations == 0, "what is left out stays out"
    assert shortened(gpssm.ARX(2), 0.1) is None
    assert shortened(METHOD, 1e-6).optimiser.steps == 1


def test_a_share_that_is_none_is_refused():
    for look in (0.0, 1.5):
        with pytest.raises(ValueError, match="look="):
            gpssm.Restarts(METHOD, 2, look=look)


class Losing(AbstractPool):
    """Loses all tasks, or all but one."""

    def __init__(self, kept: int | None):
        self.kept = kept

    def run(self, function, tasks):
        for i, task in enumerate(tasks):
            yield i, function(task) if i == self.kept else Lost("it died")


def test_a_start_whose_process_died_is_left_out(records):
    told: list[str] = []

    class Listening(gpssm.Silent):
        def say(self, message: str) -> None:
            told.append(message)

    method = gpssm.Restarts(Counted(seen=([],)), 3, pool=Losing(1))
    made = gpssm.fit(records, method, progress=Listening(), seed=0)
    assert made.result.good and len(made.parts) == 1
    assert sum("is lost: it died" in message for message in told) == 2
    with pytest.raises(gpssm.FitError, match="__main__"):
        gpssm.fit(records, replace(method, pool=Losing(None)), progress=gpssm.Silent(), seed=0)


@pytest.mark.parametrize(("look", "after"), [(0.1, 3), (0.1, 1), (1.0, 1)])
def test_starts_that_were_never_made_in_full_are_no_finished_fit(records, look, after):
    """The wish comes in the midst of tasks that run elsewhere and do not hear of it."""
    run = Run()

    class Elsewhere(AbstractPool):
        def run(self, function, tasks):
            for i, task in enumerate(tasks):
                if i + 1 == after:
                    run.interruption.request()
                yield i, function(task)

    method = gpssm.Restarts(Counted(seen=([],)), 3, look=look, pool=Elsewhere())
    made = method.fit(Prepared.of(records), run, key=jax.random.key(0))
    assert made.result is gpssm.Result.interrupted
    assert np.isfinite(made.system.simulate(records[0], n_init=2, seed=0).samples).all()


@pytest.mark.system
@pytest.mark.timeout(600)
def test_processes_change_nothing(records):
    def fitted(workers: int) -> Fit:
        method = gpssm.Restarts(METHOD, 4, look=0.5, pool=ProcessPool(workers))
        return gpssm.fit(records, method, progress=gpssm.Silent(), seed=1)

    one, two = fitted(1), fitted(2)
    assert eqx.tree_equal(one.system.model, two.system.model)
    assert one.system.model.transition.inducing.dtype == np.float64
    np.testing.assert_array_equal(one.history.bound, two.history.bound)
    alone = gpssm.fit(records, gpssm.Restarts(METHOD, 4, look=0.5), progress=gpssm.Silent(), seed=1)
    np.testing.assert_allclose(alone.bound, one.bound, rtol=1e-6)
