"""Autoregressions against dense GPs and least squares in NumPy."""

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.methods import ARX, GPNARX
from gpssm.predict import AbstractPredictor, MeanOnly
from tests.reference.compiling import constant
from tests.reference.fitting import learnt
from tests.reference.small_system import record, records


@constant
def fitted() -> AbstractPredictor:
    return learnt(records(), GPNARX(1, increment=True, restarts=1, iterations=25))


@pytest.mark.system
def test_learns_the_nonlinearity():
    new = record(60, seed=7)
    run = fitted().simulate(new, n_init=2, num_samples=60, key=jr.key(1))
    linear = learnt(records(), ARX()).simulate(new, n_init=2, num_samples=60, key=jr.key(1))
    assert run.start == 2 and run.signals.shape == (60, 58, 1)
    assert gpssm.metrics.rmse(new.y[2:], run.mean) < 0.8 * gpssm.metrics.rmse(new.y[2:], linear.mean)
    low, high = run.interval(0.95)
    assert np.mean((low <= new.y[2:]) & (new.y[2:] <= high)) > 0.8


def test_free_run_does_not_see_later_outputs_and_repeats_with_the_key():
    new = record(60, seed=7)
    other = gpssm.Episode(
        y=np.concatenate([new.y[:2], new.y[2:] + 5.0]),
        u=new.u,
        dt=new.dt,
        output_names=new.output_names,
        input_names=new.input_names,
    )
    runs = [fitted().simulate(e, n_init=2, num_samples=60, key=jr.key(1)).samples for e in (new, other)]
    np.testing.assert_array_equal(*runs)


def test_mean_run_of_a_linear_autoregression_is_the_recursion():
    y = np.concatenate([[1.0, 0.5], np.zeros(20)])
    u = np.sin(np.arange(22.0))
    for t in range(1, 21):
        y[t + 1] = 0.6 * y[t] - 0.3 * y[t - 1] + 0.5 * u[t] + 0.2 * u[t - 1] + 0.1
    episode = gpssm.Episode(y=y, u=u)
    model = learnt(gpssm.Episodes([episode]), ARX(2, ridge=0.0))
    run = model.simulate(episode, n_init=3, propagation=MeanOnly(), key=jr.key(0))
    np.testing.assert_allclose(run.mean, episode.y[3:], atol=1e-8)
    ahead = model.predict(episode, horizon=3, propagation=MeanOnly(), key=jr.key(0))
    assert ahead.start == 4
    np.testing.assert_allclose(ahead.mean, episode.y[4:], atol=1e-8)
    further = model.forecast(episode.head(10), inputs=episode.u[10:], propagation=MeanOnly(), key=jr.key(0))
    np.testing.assert_allclose(further.mean, episode.y[10:], atol=1e-8)


def test_coefficients_are_drawn_from_the_posterior_of_least_squares():
    model = learnt(records(), ARX())
    rows, targets = model.lags.table(model.scaler.apply(records()))
    rows = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    weights = np.linalg.lstsq(rows, targets, rcond=None)[0]
    noise = ((targets - rows @ weights) ** 2).sum() / (len(rows) - 3)
    covariance = noise * np.linalg.inv(rows.T @ rows)
    chol = np.asarray(model.regression.chol) * np.sqrt(np.asarray(model.regression.noise))
    np.testing.assert_allclose(np.asarray(model.regression.weights), weights, rtol=1e-4)
    np.testing.assert_allclose(chol @ chol.T, covariance, rtol=1e-3, atol=1e-9)
    logs = -0.5 * (np.log(2.0 * np.pi * noise) + (targets - rows @ weights) ** 2 / noise)
    assert model.log_evidence == pytest.approx(logs.sum(), rel=1e-4)


@pytest.mark.system
def test_sparse_gp_with_ample_inducing_points_agrees_with_the_exact_one():
    sparse = learnt(records(), GPNARX(restarts=1, iterations=25, max_exact=10, num_inducing=40))
    new = record(60, seed=7)
    runs = [m.simulate(new, n_init=2, propagation=MeanOnly(), key=jr.key(0)).mean for m in (sparse, fitted())]
    assert np.sqrt(np.mean((runs[0] - runs[1]) ** 2)) < 0.15 * new.y.std()


def test_too_few_samples_to_fill_the_lags_are_refused():
    with pytest.raises(gpssm.DataError, match="n_init=1: need at least 2"):
        learnt(records(), ARX(2)).simulate(record(9, seed=0), n_init=1, key=jr.key(0))


def _growing() -> gpssm.Episodes:
    noise = 0.01 * np.random.default_rng(0).standard_normal(40)
    y = np.ones(40)
    for t in range(39):
        y[t + 1] = 1.1 * y[t] + noise[t]
    return gpssm.Episodes([gpssm.Episode(y=y)])


def test_a_long_free_run_does_not_explode_unless_it_may():
    train = _growing()
    spread = np.abs(train[0].y).max()
    long = gpssm.Episode(y=np.concatenate([train[0].y[:10], np.zeros((600, 1))]))
    ends = {}
    for limit in (1.0, None):
        system = learnt(train, ARX(1, max_radius=limit))
        run = system.simulate(long, n_init=10, num_samples=50, key=jr.key(0))
        ends[limit] = float(np.abs(run.median[-1, 0]))
    assert ends[1.0] < 1e3 * spread
    assert ends[None] > 1e6 * spread


def test_a_stable_autoregression_is_left_alone():
    y = np.zeros(200)
    noise = np.random.default_rng(1).standard_normal(200)
    for t in range(199):
        y[t + 1] = 0.5 * y[t] + noise[t]
    train = gpssm.Episodes([gpssm.Episode(y=y)])
    runs = [
        learnt(train, ARX(2, max_radius=limit)).simulate(train[0], n_init=5, num_samples=4, key=jr.key(0)).samples
        for limit in (1.0, None)
    ]
    np.testing.assert_allclose(*runs, atol=1e-12)
