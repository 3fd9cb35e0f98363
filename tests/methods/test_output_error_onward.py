"""Output-error fits that go on from earlier ones: the same function, and better for more records."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import gpssm
from gpssm.fitting import Prepared, Room
from gpssm.methods import Linear, OutputError
from gpssm.methods.output_error._onward import earlier_model, onward
from gpssm.methods.output_error._parameters import Step
from gpssm.methods.output_error._start import first_state
from gpssm.models import LinearGaussian, Magnitude, SparseGP
from tests.reference.compiling import constant, jit

pytestmark = pytest.mark.system

METHOD = OutputError(2, num_inducing=8, rounds=4)


@constant
def data() -> gpssm.Episodes:
    """A spring that softens, in three records."""
    rng, records = np.random.default_rng(0), []
    for length in (90, 70, 60):
        u, x, v, y = rng.standard_normal(length // 5).repeat(5), 0.0, 0.0, np.zeros(length)
        for t in range(length):
            y[t] = x + 0.02 * rng.standard_normal()
            x, v = x + 0.2 * v, v + 0.2 * (2.0 * u[t] - x - 2.0 * np.tanh(2.0 * x) - 0.6 * v)
        records.append(gpssm.Episode(y=y, u=u))
    return gpssm.Episodes(records)


@constant
def first() -> gpssm.Fit:
    return gpssm.fit(data()[:2], METHOD, seed=0, progress=gpssm.Silent())


def system_of(fit: gpssm.Fit) -> gpssm.System:
    assert isinstance(fit.system, gpssm.System)
    return fit.system


def gp_of(fit: gpssm.Fit) -> SparseGP:
    gp = system_of(fit).model.transition
    assert isinstance(gp, SparseGP)
    return gp


def test_the_function_is_the_one_that_was_learnt():
    model = earlier_model(first(), 2, 8, LinearGaussian)
    assert not isinstance(model, str) and isinstance(model.emission, LinearGaussian)
    scaled = system_of(first()).scaler.apply(data())
    problem = onward(model, scaled, 2.0, Room(0, 0))
    rng = np.random.default_rng(1)
    x, u = jnp.asarray(rng.standard_normal((5, 2))), jnp.asarray(rng.standard_normal((5, 1)))

    @jit
    def moved(model, parameters, frame):
        step = Step.of(parameters, frame)
        return [(step(a, b), model.transition.condition().moments(a, b)[0]) for a, b in zip(x, u, strict=True)]

    for ours, learnt in moved(model, problem.parameters, problem.frame):
        np.testing.assert_allclose(ours, learnt, rtol=1e-6, atol=1e-8)
    assert isinstance(problem.parameters.emission, LinearGaussian)
    np.testing.assert_array_equal(problem.parameters.emission.weight, model.emission.weight)
    assert problem.parameters.starts.shape == (3, 2)
    assert not np.any(problem.centre.values) and not np.any(problem.centre.starts)


def test_the_first_state_is_the_one_that_a_linear_record_began_with():
    A, B = np.array([[0.9, 0.3], [-0.2, 0.8]]), np.array([[0.1], [0.5]])
    c, C, b = np.array([0.1, -0.2]), np.array([[1.0, 0.4]]), np.array([0.3])
    rng, x = np.random.default_rng(2), np.array([1.5, -0.7])
    u, y, now = rng.standard_normal((400, 1)), np.zeros((400, 1)), x
    for t in range(400):
        y[t] = C @ now + b
        now = A @ now + B @ u[t] + c
    found = first_state(A, B, c, C, b, gpssm.Episode(y=y, u=u))
    # But for a ridge of a tenth of one output.
    np.testing.assert_allclose(found, x, rtol=0.1)


def error(system: gpssm.System) -> float:
    """Over all three records."""
    missed = [system.simulate(one, n_init=5, seed=0).median - one.y[5:] for one in data()]
    return float(np.sqrt(np.mean(np.concatenate(missed) ** 2)))


def test_going_on_to_more_records_is_no_worse_than_where_it_began_and_takes_fewer_rounds():
    again = gpssm.fit(data(), METHOD, start=first(), seed=0, progress=gpssm.Silent())
    assert error(system_of(again)) < 1.02 * error(system_of(first()))
    told = [event for event in again.history.events if event.startswith("free-run error")]
    # Three of four rounds, after the four of the first fit.
    assert len(told) == 4 + 3
    np.testing.assert_array_equal(gp_of(again).inducing, gp_of(first()).inducing)


@pytest.mark.parametrize("what", ["states", "inducing points", "a linear emission", "finished output-error fit"])
def test_where_it_cannot_go_on_it_begins_anew_and_says_so(what: str):
    fit, method = first(), METHOD
    match what:
        case "states":
            method = replace(METHOD, states=1, rounds=1)
        case "inducing points":
            method = replace(METHOD, num_inducing=9, rounds=1)
        case "a linear emission":
            method = replace(METHOD, emission=Magnitude, rounds=1)
        case _:
            method = replace(METHOD, rounds=1)
            fit = gpssm.fit(data(), Linear(2, iterations=2), progress=gpssm.Silent())
    made = gpssm.fit(data(), method, start=fit, progress=gpssm.Silent())
    (told,) = (event for event in made.history.events if "begins anew" in event)
    assert what in told
    assert type(system_of(made).model.emission) is method.emission


def test_an_earlier_fit_comes_with_its_own_units():
    other = gpssm.Scaler.from_episodes(data()[2:])
    with pytest.raises(gpssm.DataError, match="units"):
        gpssm.fit(data(), METHOD, start=first(), scaler=other, progress=gpssm.Silent())
    assert Prepared.of(data(), start=first(), scaler=system_of(first()).scaler).scaler is system_of(first()).scaler
