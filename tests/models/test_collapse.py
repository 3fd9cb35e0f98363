"""q(u) at its closed-form optimum: the collapsed bound, the optimum itself, and natural-gradient steps towards it."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpssm._core._params import val
from gpssm.inference import Collapsed, Explicit, NaturalGradient
from gpssm.models import SparseGP
from gpssm.models.transition import Transitions
from tests.reference import sparse_gp as plain
from tests.reference.compiling import constant, jit
from tests.reference.transition_cases import NOISE, Case, D, make, random_q, random_transitions, with_q

CASES = {
    "shared, whitened": dict(names=("RBF",)),
    "each, not whitened": dict(names=("Matern12", "ArcCosine0"), whitened=False, per_dimension=True),
}
each = pytest.mark.parametrize("name", CASES)
RATE = 0.3


@constant
def case(name: str) -> Case:
    settings_ = dict(CASES[name])
    return make(*settings_.pop("names"), seed=3, **settings_)


@constant
def table() -> Transitions:
    return random_transitions(np.random.default_rng(4), rows=12)


def bound(transition: SparseGP, rows: Transitions) -> jax.Array:
    log_prob, kl, _ = Explicit().terms(transition, rows)
    return log_prob - kl


explicit_bound = jit(bound)


def everything(transition: SparseGP, rows: Transitions) -> dict:
    log_prob, kl, jitter = Collapsed().terms(transition, rows)
    best, partly = (transition.towards_optimum(rows, rate) for rate in (1.0, RATE))
    return {
        "collapsed": (log_prob, kl, jitter),
        "terms at the optimum": Explicit().terms(best, rows),
        "bounds": (bound(transition, rows), bound(partly, rows), bound(best, rows)),
        "best": best,
        "partly": partly,
    }


# Both cases in one compiled function, to save time.
@jit
def for_both(transitions: dict[str, SparseGP], rows: Transitions) -> dict:
    return {name: everything(transition, rows) for name, transition in transitions.items()}


@constant
def results() -> dict:
    return for_both({name: case(name).transition for name in CASES}, table())


def reference(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points, residuals, extra variances and weights as the plain formulas want them."""
    rows = jax.tree.map(np.asarray, table())
    points = np.concatenate([rows.states, rows.controls], axis=1)
    return points, rows.next_means - rows.states, rows.next_variances, rows.weights


@each
def test_collapsed_bound_equals_the_formula_in_unwhitened_form(name):
    points, residuals, extra, weights = reference(name)
    expected = sum(
        plain.collapsed_bound(gp.kernel, gp.inducing, points, residuals[:, d], extra[:, d], weights, NOISE[d])
        for d, gp in enumerate(case(name).gps)
    )
    log_prob, kl, _ = results()[name]["collapsed"]
    np.testing.assert_allclose(log_prob - kl, expected, rtol=1e-8)


@each
def test_collapsed_terms_equal_the_explicit_ones_at_the_optimum(name):
    for collapsed, explicit in zip(results()[name]["collapsed"], results()[name]["terms at the optimum"], strict=True):
        np.testing.assert_allclose(collapsed, explicit, rtol=1e-8, atol=1e-8)


@each
def test_the_optimum_equals_the_formula(name):
    points, residuals, _, weights = reference(name)
    best = results()[name]["best"]
    for d, gp in enumerate(case(name).gps):
        mean, covariance = plain.optimum(gp, points, residuals[:, d], weights, NOISE[d])
        chol = np.asarray(val(best.q_chol))[d]
        found_mean, found = np.asarray(best.q_mean)[d], chol @ chol.T
        if best.whitened:
            factor = np.linalg.cholesky(gp.prior())
            found_mean, found = factor @ found_mean, factor @ found @ factor.T
        np.testing.assert_allclose(found_mean, mean, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(found, covariance, rtol=1e-6, atol=1e-7)


@each
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**31), size=st.sampled_from([1e-4, 1e-2, 1.0]))
def test_no_other_q_has_a_higher_bound(name, seed, size):
    """From far away and from close by."""
    best = results()[name]["best"]
    rng = np.random.default_rng(seed)
    mean, chol = random_q(rng)
    moved = with_q(best, best.q_mean + size * mean, np.asarray(val(best.q_chol)) + size * chol)
    log_prob, kl, _ = results()[name]["collapsed"]
    assert explicit_bound(moved, table()) <= log_prob - kl + 1e-9


@each
def test_natural_gradient_steps_go_up_and_from_the_optimum_nowhere(name):
    start, partly, best = results()[name]["bounds"]
    assert start < partly < best
    again = for_both({n: results()[n]["best"] for n in CASES}, table())[name]["partly"]
    np.testing.assert_allclose(again.q_mean, results()[name]["best"].q_mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(val(again.q_chol), val(results()[name]["best"].q_chol), rtol=1e-5, atol=1e-7)


@each
def test_a_natural_gradient_step_mixes_natural_parameters(name):
    def natural(transition: SparseGP, d: int) -> tuple[np.ndarray, np.ndarray]:
        chol = np.asarray(val(transition.q_chol))[d]
        precision = np.linalg.inv(chol @ chol.T)
        return precision, precision @ np.asarray(transition.q_mean)[d]

    for d in range(D):
        states = (case(name).transition, results()[name]["best"], results()[name]["partly"])
        before, best, partly = (natural(transition, d) for transition in states)
        for old, target, found in zip(before, best, partly, strict=True):
            np.testing.assert_allclose(found, (1.0 - RATE) * old + RATE * target, rtol=1e-5, atol=1e-6)


def test_the_treatments_update_q_as_they_say():
    transition = case("shared, whitened").transition

    @jit
    def updates(transition: SparseGP, rows: Transitions) -> tuple:
        return (
            NaturalGradient(RATE).after_step(transition, rows),
            NaturalGradient(1.0).after_step(transition, rows),
            Collapsed().finish(transition, rows),
            (NaturalGradient().terms(transition, rows), Explicit().terms(transition, rows)),
        )

    partly, all_the_way, finished, (natural, explicit) = updates(transition, table())
    np.testing.assert_array_equal(natural, explicit)
    expected = results()["shared, whitened"]
    for found, target in ((partly, "partly"), (all_the_way, "best"), (finished, "best")):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10), found, expected[target])
    assert Explicit().after_step(transition, table()) is transition
    assert Explicit().finish(transition, table()) is transition
    assert Collapsed().after_step(transition, table()) is transition
    assert NaturalGradient().finish(transition, table()) is transition
    assert [i.leaves_to_gradients() for i in (Explicit(), Collapsed(), NaturalGradient())] == [True, False, False]


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5])
def test_rates_must_lie_between_zero_and_one(rate):
    with pytest.raises(ValueError, match="must lie in"):
        NaturalGradient(rate)


def test_rows_without_weight_do_not_count():
    """A row of weight zero and anything in it changes no term."""
    rows = table()
    assert float(rows.weights[1]) == 0.0
    other = Transitions(
        rows.states.at[1].set(3.0), rows.controls.at[1].set(-2.0), rows.next_means.at[1].set(50.0),
        rows.next_variances.at[1].set(9.0), rows.weights,
    )  # fmt: skip
    changed = for_both({name: case(name).transition for name in CASES}, other)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10), changed, results())
