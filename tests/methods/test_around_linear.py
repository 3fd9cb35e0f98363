"""Models that begin as a linear system, and how long they are trained."""

from dataclasses import replace

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.evaluate import Stretches
from gpssm.fitting import Prepared, Run
from gpssm.inference.marginal import FreeRuns
from gpssm.methods import AroundLinear, Marginal
from gpssm.methods._tried import Tried
from gpssm.methods.marginal import _watched
from gpssm.models import JointPosterior, Magnitude, SparseGP, StableMean

QUIET = {"progress": gpssm.Silent(), "seed": 0}
A, B = np.array([[0.9, 0.2], [-0.2, 0.9]]), np.array([0.1, 0.5])


def records(bend: float, steps: int = 200, count: int = 2, noise: float = 0.02) -> gpssm.Episodes:
    """A damped oscillation driven by noise, with a spring that is softer the further it goes."""
    rng, found = np.random.default_rng(3), []
    for _ in range(count):
        u, x, y = np.repeat(rng.standard_normal(steps // 4), 4), np.zeros(2), []
        for t in range(steps):
            y.append(x[0] + noise * rng.standard_normal())
            x = A @ x + B * u[t] + bend * np.array([0.0, np.tanh(x[0]) - x[0]]) + noise * rng.standard_normal(2)
        found.append(gpssm.Episode(y=np.asarray(y)[:, None], u=u[:, None]))
    return gpssm.Episodes(found)


def test_it_begins_as_a_stable_linear_system_in_units_of_its_states():
    data = Prepared.of(records(0.0, noise=1e-3))
    model = AroundLinear(2, num_inducing=8).build(data, key=jr.key(0))
    assert isinstance(model.transition, SparseGP) and isinstance(model.transition.mean, StableMean)
    # Coordinates are free; what decays and turns is not.
    found = np.linalg.eigvals(np.asarray(model.transition.mean.linear().state_matrix))
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(np.linalg.eigvals(A)), atol=0.01)
    # The free run of the mean function alone, read off by the emission, is the record.
    linear, episode = model.transition.mean.linear(), data.scaled[0]
    F, G, c = (np.asarray(part) for part in (linear.state_matrix, linear.control_matrix, linear.offset))
    states = [np.zeros(2)]
    for u in episode.u[:-1]:
        states.append(F @ states[-1] + G @ u + c)
    visited = np.stack(states)[50:]  # by then the first state is forgotten
    outputs = np.asarray(model.emission.mean(jnp.asarray(visited)))
    assert np.abs(outputs - episode.y[50:]).max() < 0.1
    np.testing.assert_allclose(visited.std(axis=0), 1.0, atol=0.3)


def test_numbers_that_cannot_be_are_refused():
    for settings in ({"states": 0}, {"states": ()}, {"num_inducing": 0}, {"amplitude": 0.0}, {"lengthscale": -1.0}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            AroundLinear(**{"states": 2} | settings)  # pyright: ignore[reportArgumentType]


def test_sensors_without_sign_are_known():
    signed = records(0.0)
    unsigned = gpssm.Episodes([gpssm.Episode(y=np.abs(e.y), u=e.u) for e in signed])
    model = AroundLinear(2, num_inducing=8, emission=Magnitude).build(Prepared.of(unsigned), key=jr.key(0))
    assert isinstance(model.emission, Magnitude)


@pytest.mark.parametrize(
    ("values", "kept", "made"),
    [
        ([0.0, 0.5, 0.4, 0.7, 0.6, 0.5, 0.9], 3, 6),  # two rounds without gain are enough
        ([0.0, 0.1, 0.2, 0.3], 3, 4),  # as many as were asked for
        ([1.0, 0.5, 0.4], 0, 3),  # the linear system itself
    ],
)
def test_training_ends_after_the_round_whose_free_runs_were_best(values, kept, made, monkeypatch):
    """With stand-ins for the fits."""
    asked = []

    class Stand(Tried):
        def __init__(self):
            pass

        def attempt(self, name: str, method: Marginal, *, start):
            asked.append((method.rounds, method.model is None, start))
            return len(asked)

        def value(self, name: str) -> float:
            return values[int(name.split()[-2])]

    method = Marginal(AroundLinear(2), rounds=len(values) - 1, watch=False)
    found, name, told = _watched.watched(method, Stand())
    assert name == f"2 states, after {kept} rounds"
    assert found.rounds == kept and f": {kept} rounds" in told
    # First the start alone, then a round at a time, each from the one before.
    assert asked == [(0, False, None), *((1, True, i) for i in range(1, made))]


def test_of_several_numbers_of_states_the_best_is_kept():
    class Stand(Tried):
        def __init__(self):
            pass

        def attempt(self, name: str, method: Marginal, *, start):
            return None if name.startswith("4") else name

        def value(self, name: str) -> float:
            return {"2": 0.1, "3": 0.4, "4": -np.inf}[name[0]] + 0.01 * int(name.split()[-2])

    found, name, told = _watched.watched(Marginal(AroundLinear((2, 3, 4)), rounds=1), Stand())
    assert name == "3 states, after 1 rounds"
    assert isinstance(found.model, AroundLinear)
    assert found.model.states == 3 and found.rounds == 1 and "3 states kept" in told


@pytest.mark.system
def test_what_the_linear_system_misses_is_learnt_and_free_runs_say_so():
    data = records(0.6, count=4)
    train, test = data.split(test=1)
    method = Marginal(AroundLinear((1, 2), num_inducing=15), rounds=2, iterations=40, draws=4)
    fit = gpssm.fit(train, method, **QUIET)
    (told,) = [event for event in fit.history.events if event.startswith("value of free runs")]
    assert "2 states kept" in told
    assert isinstance(fit.parts[0].method, Marginal) and fit.parts[0].method.watch is False
    start = gpssm.fit(train, Marginal(AroundLinear(2, num_inducing=15), rounds=0, draws=4), **QUIET)
    error, before = (gpssm.judge(made.system, test, n_init=10).free_run.rmse for made in (fit, start))
    linear = gpssm.judge(gpssm.fit(train, gpssm.Subspace(2), **QUIET).system, test, n_init=10).free_run.rmse
    assert error < 0.6 * before and error < 0.6 * linear


@pytest.mark.system
def test_watching_trains_without_the_stretches_and_ends_with_everything(monkeypatch):
    data, seen = records(0.6, steps=120), []
    attempt, judge = Tried.attempt, Tried._judge

    def noting(self, name, method, *, start=None):
        seen.append(sum(len(e) for e in self.folds[0].train))
        return attempt(self, name, method, start=start)

    monkeypatch.setattr(Tried, "attempt", noting)
    monkeypatch.setattr(Tried, "_judge", lambda self, name, made, began: (judge(self, name, made, began)[0], 1.7))
    fit = gpssm.fit(data, Marginal(AroundLinear(2, num_inducing=6), rounds=1, iterations=4, draws=0), **QUIET)
    assert seen and max(seen) < 240
    assert fit.history.num_steps == 240
    # Bands are as wide as the stretches asked for.
    assert any("1.7 times as wide" in event for event in fit.history.events)
    assert fit.system.free_run_width == 1.7


def test_what_would_be_dropped_without_a_word_is_refused():
    data = records(0.6, steps=40)
    start = gpssm.fit(data, Marginal(gpssm.ModelSpec(1, num_inducing=4), rounds=0, draws=0), **QUIET)
    for method in (Marginal(AroundLinear(1)), Marginal(watch=True)):
        with pytest.raises(gpssm.DataError, match="goes on from an earlier fit as it stands"):
            gpssm.fit(data, method, start=start, **QUIET)
    with pytest.raises(gpssm.DataError, match=r"only free runs that are watched can choose"):
        gpssm.fit(data, Marginal(AroundLinear((1, 2)), watch=False), **QUIET)


def test_training_begins_at_the_linear_system_itself():
    model = AroundLinear(2, num_inducing=8).build(Prepared.of(records(0.6, steps=40)), key=jr.key(0))
    assert isinstance(model.transition, SparseGP)
    assert not np.asarray(model.transition.q_mean).any()


def test_a_width_is_that_of_free_runs_not_one_more_factor():
    n_init = 4
    (fold,) = Stretches(1).split(records(0.6, steps=40, count=1), n_init=n_init)
    data = Prepared.of(fold.train)
    tried = Tried.of((fold,), n_init, data, Run(), jr.key(0))
    made = tried.attempt("constant", gpssm.Constant())
    assert made is not None
    plain = tried.widths["constant"]
    narrow, wide = (replace(made, system=made.system.widened(width)) for width in (0.7, 2.0))
    np.testing.assert_allclose(tried._judge("constant", narrow, 0.0)[1], plain, rtol=0.15)
    tried.widths["constant"] = 1.5
    assert tried.widened("constant", wide) is wide and tried.widened("constant", narrow).system.free_run_width == 1.5


def test_the_posterior_is_that_of_the_evidence_whatever_was_maximised():
    """Errors of a free run are one error, seen again and again."""
    data, found = records(0.6, steps=40), []
    for share in (0.0, 0.9):
        method = Marginal(AroundLinear(1, num_inducing=4), rounds=0, draws=0, free=FreeRuns(share))
        system = gpssm.fit(data, method, **QUIET).system
        assert isinstance(system, gpssm.System) and isinstance(system.joint, JointPosterior)
        found.append(np.asarray(system.joint.factor))
    np.testing.assert_allclose(*found, rtol=1e-10)
