"""Subspace identification against the system that made the data, and its predictor against dense Gaussians."""

from dataclasses import replace

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.fitting import Prepared, Run
from gpssm.methods import ARX, Direct
from gpssm.methods.linear._simulated import free_run_error, with_inputs_refitted, with_noises_found
from gpssm.methods.linear._subspace import heads_and_tails, pieces
from gpssm.predict import Channels, LinearPredictor, LinearSystem, MeanOnly
from gpssm.predict._kalman import kalman
from tests.methods.test_linear import TRUTH, record
from tests.reference.kalman import evidence, posterior

SYSTEM = LinearSystem(TRUTH.A, TRUTH.B, TRUTH.c, TRUTH.W, TRUTH.b, np.diag(TRUTH.Q), TRUTH.R, np.zeros(2), np.eye(2))
UNIT = gpssm.Scaler(output_mean=np.zeros(1), output_scale=np.ones(1), input_mean=np.zeros(1), input_scale=np.ones(1))


def predictor(system: LinearSystem = SYSTEM) -> LinearPredictor:
    return LinearPredictor(system, UNIT, Channels(("y0",), ("u0",), None))


def noise_free(steps: int, seed: int) -> gpssm.Episode:
    """A free run of the system from a first state of its own."""
    rng = np.random.default_rng(seed)
    x, u, y = rng.standard_normal(2), rng.standard_normal((steps, 1)), np.zeros((steps, 1))
    for t in range(steps):
        y[t] = TRUTH.W @ x + TRUTH.b
        x = TRUTH.A @ x + TRUTH.B @ u[t] + TRUTH.c
    return gpssm.Episode(y=y, u=u)


def test_the_filter_is_the_textbook_one_and_agrees_with_the_dense_posterior():
    some = record(15, seed=3, missing=0.3)
    found = kalman(SYSTEM, some.y, some.u, some.observed)
    assert found.log_evidence == pytest.approx(evidence(TRUTH, some.y, some.u, some.observed), abs=1e-10)
    mean, covariance, _ = posterior(TRUTH, some.y, some.u, some.observed)
    np.testing.assert_allclose(found.means[-1], mean[-2:], atol=1e-10)
    np.testing.assert_allclose(found.covariances[-1], covariance[-2:, -2:], atol=1e-10)


def test_a_free_run_has_the_moments_of_the_dense_gaussian():
    some, n_init, count = record(12, seed=4), 5, 20_000
    run = predictor().simulate(some, n_init=n_init, num_samples=count, seed=0)
    shown = some.observed.copy()
    shown[n_init:] = False
    mean, covariance, _ = posterior(TRUTH, some.y, some.u, shown)
    read = np.kron(np.eye(12), TRUTH.W)
    expected, spread = read @ mean + TRUTH.b, read @ covariance @ read.T
    sd = np.sqrt(np.diagonal(spread))[n_init:]
    np.testing.assert_allclose(run.mean[:, 0], expected[n_init:], atol=5.0 * sd.max() / np.sqrt(count))
    drawn = np.cov(run.signals[:, :, 0].T)
    np.testing.assert_allclose(drawn, spread[n_init:, n_init:], atol=6.0 * (sd**2).max() / np.sqrt(count))
    np.testing.assert_allclose(run.std[:, 0] ** 2, sd**2 + TRUTH.R, rtol=0.05)
    plain = predictor().simulate(some, n_init=n_init, num_samples=7, propagation=MeanOnly(), seed=0)
    np.testing.assert_allclose(plain.signals[0, :, 0], expected[n_init:], atol=1e-9)


def test_predictions_ahead_have_the_moments_of_the_dense_gaussian():
    some, horizon, count = record(10, seed=5), 3, 20_000
    run = predictor().predict(some, horizon=horizon, num_samples=count, seed=0)
    assert run.start == horizon
    for step in (horizon, 6, 9):
        shown = some.observed.copy()
        shown[step - horizon + 1 :] = False
        mean, covariance, _ = posterior(TRUTH, some.y, some.u, shown)
        at = slice(2 * step, 2 * step + 2)
        expected = (TRUTH.W @ mean[at] + TRUTH.b)[0]
        sd = float(np.sqrt((TRUTH.W @ covariance[at, at] @ TRUTH.W.T)[0, 0]))
        drawn = run.signals[:, step - horizon, 0]
        assert drawn.mean() == pytest.approx(expected, abs=5.0 * sd / np.sqrt(count))
        assert drawn.std() == pytest.approx(sd, rel=0.03)


def test_how_inputs_act_is_found_exactly_where_there_is_no_noise():
    runs = [noise_free(60, seed) for seed in range(3)]
    wrong = replace(SYSTEM, B=np.array([[0.4], [-0.2]]), c=np.zeros(2), b=np.zeros(1))
    found = with_inputs_refitted(wrong, runs)
    np.testing.assert_allclose(found.B, TRUTH.B, atol=1e-4)
    # An offset of the state and one of the output are told apart by the way from the first state only.
    still = np.linalg.solve(np.eye(2) - TRUTH.A, found.c)
    truth = np.linalg.solve(np.eye(2) - TRUTH.A, TRUTH.c)
    np.testing.assert_allclose(TRUTH.W @ still + found.b, TRUTH.W @ truth + TRUTH.b, atol=1e-3)
    assert free_run_error(found, runs) < 1e-5 * free_run_error(wrong, runs)


def test_noises_are_scaled_to_the_truth():
    runs = [record(400, seed=6)]
    wrong = replace(SYSTEM, Q=30.0 * SYSTEM.Q, R=SYSTEM.R / 30.0)
    found = with_noises_found(wrong, runs)
    np.testing.assert_allclose(np.log(np.diagonal(found.Q) / TRUTH.Q), 0.0, atol=np.log(2.0))
    np.testing.assert_allclose(np.log(found.R / TRUTH.R), 0.0, atol=np.log(1.5))


def test_it_finds_the_order_and_the_poles():
    train = gpssm.Episodes([record(300, seed=seed, missing=0.02) for seed in (7, 8)])
    made = gpssm.fit(train, gpssm.Subspace(), progress=gpssm.Silent())
    assert made.system.system.order in (2, 3), made.history.events
    found = np.linalg.eigvals(made.system.system.A)
    for pole in np.linalg.eigvals(TRUTH.A):
        assert np.abs(found - pole).min() < 0.05
    new = record(300, seed=9)
    run, best = (s.simulate(new, n_init=10, seed=0) for s in (made.system, predictor()))
    errors = [np.sqrt(np.mean((new.y[10:] - r.median) ** 2)) for r in (run, best)]
    assert errors[0] < 1.1 * errors[1]
    low, high = run.interval()
    assert 0.9 < np.mean((new.y[10:] >= low) & (new.y[10:] <= high)) < 0.99


def test_long_gaps_cut_a_record_and_short_ones_do_not():
    whole = record(60, seed=1)
    observed = whole.observed.copy()
    observed[20:40] = observed[50:52] = False
    gapped = whole._replace(observed=observed, y=np.where(observed, whole.y, 0.0))
    assert [len(piece) for piece in pieces([gapped])] == [20, 20]


def test_ends_of_records_begin_with_samples_that_the_rest_ends_with():
    """Three quarters and the rest; a free run over the rest starts from ten samples before, or as many as it has."""
    records = [record(steps, seed=steps) for steps in (80, 20, 15)]
    heads, tails = heads_and_tails(records)
    assert [(len(head), len(tail)) for head, tail in zip(heads, tails, strict=True)] == [(60, 20 + 10), (15, 5 + 5)]
    for whole, head, tail in zip(records, heads, tails, strict=False):
        np.testing.assert_array_equal(head.y, whole.y[: len(head)])
        np.testing.assert_array_equal(tail.y, whole.y[-len(tail) :])


def test_single_samples_between_gaps_are_no_trouble():
    whole = record(200, seed=1)
    observed = np.zeros_like(whole.observed)
    for start in range(0, 200, 20):
        observed[start : start + 9] = True
    observed[100:120], observed[110] = False, True
    gapped = whole._replace(observed=observed, y=np.where(observed, whole.y, 0.0))
    assert {len(piece) for piece in pieces([gapped])} == {9}
    made = gpssm.fit(gpssm.Episodes([gapped]), gpssm.Subspace(2), progress=gpssm.Silent())
    assert np.isfinite(made.system.simulate(whole, n_init=3, seed=0).samples).all()


@pytest.mark.parametrize(
    "method", [gpssm.Subspace(), gpssm.Subspace(direct=None), Direct(ARX(2)), Direct(ARX(2), always=False)]
)
def test_an_interruption_leaves_a_model(method):
    run = Run()
    run.interruption.request()
    made = method.fit(Prepared.of(gpssm.Episodes([record(60, seed=1)])), run, key=jr.key(0))
    assert made.result is gpssm.Result.interrupted
    assert np.isfinite(made.system.simulate(record(20, seed=2), n_init=3, seed=0).samples).all()


def test_few_samples_end_in_a_sentence_or_a_model():
    tiny = gpssm.Episodes([record(6, seed=1)])
    made = gpssm.fit(tiny, gpssm.Subspace(), progress=gpssm.Silent())
    assert np.isfinite(made.system.simulate(record(20, seed=2), n_init=3, seed=0).samples).all()
    with pytest.raises(gpssm.DataError, match="too few"):
        gpssm.fit(gpssm.Episodes([record(1, seed=1)]), gpssm.Subspace(6), progress=gpssm.Silent())
