"""Which of several tried methods is kept, what a budget lets be tried, and when a model before the polish is taken."""

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.evaluate import HeldOut, Selection, Trial
from gpssm.evaluate._stacking import stacking_gain
from gpssm.methods import _tried
from gpssm.methods._choice import because, chosen, mixture
from gpssm.methods._expected_time import EACH, FIRST, Budget


def selection(rows: dict[str, tuple[float, float]], folds: int = 4) -> Selection:
    """Candidates with an error and a log-density, the same on every fold."""
    trials = [
        Trial(name, f"fold {i}", 0, density, error) for name, (error, density) in rows.items() for i in range(folds)
    ]
    return Selection(dict.fromkeys(rows, gpssm.Constant()), tuple(trials))


def test_accuracy_comes_before_the_width_of_bands():
    """The candidate with the highest value errs by more than the linear one."""
    found = selection({"linear": (0.20, 0.0), "gp": (0.22, 1.0)})
    assert found.best == "gp"
    assert chosen(found, {"linear"}) == "linear"
    assert chosen(found, set()) == "linear", "more than 5 % behind"
    assert "linear. Running freely over 4" in because(found, "linear") and "next is gp with 0.22" in because(
        found, "linear"
    )


def test_among_the_accurate_the_highest_value_wins():
    found = selection({"linear": (0.30, 0.0), "output error": (0.200, 0.2), "gp": (0.208, 0.6)})
    assert chosen(found, {"linear"}) == "gp"


def test_of_those_that_are_level_the_first_is_kept():
    found = selection({"arx": (0.2, 0.5), "gp": (0.2, 0.505)})
    assert found.best == "gp" and chosen(found, {"arx"}) == "arx"


def test_failures_are_never_chosen():
    failed = Trial("gp", "fold 0", 0, -np.inf, np.inf, "diverged")
    assert chosen(Selection({"gp": gpssm.Constant()}, (failed,)), set()) is None
    one = Trial("linear", "fold 0", 0, 0.0, 0.5)
    both = Selection({"gp": gpssm.Constant(), "linear": gpssm.Constant()}, (failed, one))
    assert chosen(both, {"linear"}) == "linear"


def test_a_budget_is_spent_in_order_and_never_overdrawn():
    budget = Budget(FIRST["gp"] + 2.0 * EACH["gp"], steps=1000)
    assert budget.allows("gp")
    assert budget.allows("gp"), "nothing is compiled a second time"
    assert not budget.allows("gp")
    assert budget.seconds == pytest.approx(0.0)
    assert not Budget(FIRST["gp"] + EACH["gp"], steps=1000).allows("gp", times=1.1)
    assert all(Budget(None, steps=10**9).allows(kind, times=100.0) for kind in EACH)


def test_with_little_time_the_simple_methods_are_tried_all_the_same():
    rng = np.random.default_rng(0)
    u, y = rng.standard_normal((90, 1)), np.zeros((90, 1))
    for t in range(89):
        y[t + 1] = 0.8 * y[t] + 0.5 * u[t] + 0.02 * rng.standard_normal()
    data = gpssm.Episodes([gpssm.Episode(y=y, u=u)])
    made = gpssm.fit(data, gpssm.Auto(minutes=0.01), progress=gpssm.Silent(), seed=0)
    assert [type(part.method).__name__ for part in made.parts] == ["Constant", "Subspace", "Subspace", "ARX", "ARX"]
    with pytest.raises(ValueError, match="minutes"):
        gpssm.Auto(minutes=0.0)


def _held(missed: np.ndarray, spread: float) -> HeldOut:
    return HeldOut(missed[:, None], np.full((len(missed), 1), spread), np.ones((len(missed), 1), bool))


@pytest.mark.system
def test_stacking_gains_where_candidates_are_right_in_turn():
    """Two candidates, each of which misses every second step by far: by Monte Carlo the mixture of halves has a density
    of half of the better one in each step, which is log 2 below it, and far above either alone."""
    rng = np.random.default_rng(1)
    folds = []
    for _ in range(4):
        noise, far = rng.standard_normal(400), 30.0 * rng.standard_normal(400)
        even = np.arange(400) % 2 == 0
        folds.append([[_held(np.where(even, noise, far), 1.0)], [_held(np.where(even, far, noise), 1.0)]])
    gain = stacking_gain(folds, 0, draws=20, key=jr.key(0))
    mixture_density = -0.5 - 0.5 * np.log(2.0 * np.pi) - np.log(2.0)
    widest = 4.0
    alone = np.mean([run[0][0].log_densities(widest).mean() for run in folds])
    assert gain == pytest.approx(mixture_density - alone, rel=0.05)


@pytest.mark.system
def test_copies_of_one_candidate_gain_nothing():
    rng = np.random.default_rng(2)
    folds = [[[run], [run]] for run in (_held(rng.standard_normal(300), 1.0) for _ in range(4))]
    assert stacking_gain(folds, 1, draws=20, key=jr.key(0)) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.system
def test_a_mixture_must_be_worth_it():
    rng = np.random.default_rng(3)
    runs = [rng.standard_normal(300) for _ in range(4)]
    trials = [
        Trial(name, f"fold {i}", 0, 0.0, 1.0, held_out=_held(scale * run, 1.0))
        for name, scale in (("good", 1.0), ("poor", 3.0))
        for i, run in enumerate(runs)
    ]
    found = Selection(dict.fromkeys(("good", "poor"), gpssm.Constant()), tuple(trials))
    assert mixture(found, "good", key=jr.key(0)) is None


def test_the_model_before_the_polish_is_taken_only_if_it_is_clearly_better():
    def trials(values: list[float]) -> list[Trial]:
        return [Trial("gp", f"fold {i}", 0, 2.0 * value, 1.0) for i, value in enumerate(values)]

    assert _tried._clearly_better(trials([1.1, 1.2, 1.1]), trials([1.0, 1.05, 1.0]))
    assert not _tried._clearly_better(trials([1.0, 2.0, 0.5]), trials([1.1, 1.0, 1.1])), "one stretch decides"
    assert not _tried._clearly_better(trials([1.01, 1.01, 1.01]), trials([1.0, 1.0, 1.0])), "negligible"
    failed = [Trial("gp", "fold 0", 0, -np.inf, np.inf, "diverged"), *trials([1.0, 1.0])[1:]]
    assert _tried._clearly_better(trials([0.0, 0.0]), failed)
    assert not _tried._clearly_better(failed, trials([0.0, 0.0]))
