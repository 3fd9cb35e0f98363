"""The autoregressive baselines against dense GPs and least squares in NumPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF

import gpssm
from gpssm._core._params import Positive, cast
from gpssm.baselines import AutoregressiveGP, AutoregressiveLinear, Lags
from gpssm.methods.autoregressive._exact_gp import ExactGP, Points, Prior, filled_up, log_evidence
from gpssm.predict import MeanOnly
from tests.reference.compiling import constant
from tests.reference.small_system import record, records

LENGTHSCALES, VARIANCE, NOISE = np.array([0.7, 1.5]), 1.3, 0.05


def prior() -> Prior:
    return cast(Prior(RBF(lengthscale=jnp.asarray(LENGTHSCALES), variance=VARIANCE), Positive.of(NOISE)), np.float64)


def points(count: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    z = rng.standard_normal((count, 2))
    return z, np.sin(z[:, 0]) + 0.2 * rng.standard_normal(count)


def dense(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    differences = (a[:, None] - b[None, :]) / LENGTHSCALES
    return VARIANCE * np.exp(-0.5 * (differences**2).sum(axis=-1))


def exact() -> ExactGP:
    z, y = points()
    valid = jnp.asarray(filled_up(np.ones(len(z))))
    return ExactGP.condition((prior(),), jnp.asarray(filled_up(z)), valid, (jnp.asarray(filled_up(y)),))


def test_log_evidence_is_that_of_the_dense_gaussian():
    z, y = points()
    matrix = dense(z, z) + (NOISE + 1e-6) * np.eye(len(z))
    expected = -0.5 * (y @ np.linalg.solve(matrix, y) + np.linalg.slogdet(2.0 * np.pi * matrix)[1])
    rows = (jnp.asarray(filled_up(part)) for part in (z, y, np.ones(len(z))))
    assert float(log_evidence(prior(), Points(*rows))) == pytest.approx(expected, rel=1e-7)


def test_gradient_of_the_evidence_agrees_with_differences():
    z, y = points()
    data = Points(*(jnp.asarray(filled_up(part)) for part in (z, y, np.ones(len(z)))))
    flat, unravel = jax.flatten_util.ravel_pytree(eqx.filter(prior(), eqx.is_inexact_array))
    rest = eqx.filter(prior(), eqx.is_inexact_array, inverse=True)

    @jax.jit
    def value(leaves):
        return log_evidence(eqx.combine(unravel(leaves), rest), data)

    slope = np.asarray(jax.grad(value)(flat))
    steps = 1e-5 * np.eye(len(flat))
    differences = [(value(flat + step) - value(flat - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(slope, np.asarray(differences), rtol=1e-5, atol=1e-6)


def test_moments_are_those_of_the_dense_gaussian():
    z, y = points()
    new = np.array([0.3, -0.4])
    matrix, row = dense(z, z) + (NOISE + 1e-6) * np.eye(len(z)), dense(new[None], z)[0]
    mean, variance = exact().moments(jnp.asarray(new))
    assert float(mean[0]) == pytest.approx(row @ np.linalg.solve(matrix, y), rel=1e-7)
    assert float(variance[0]) == pytest.approx(VARIANCE - row @ np.linalg.solve(matrix, row), rel=1e-6)


def test_drawn_functions_have_the_moments_of_the_posterior():
    gp, new, count = exact(), jnp.asarray([0.3, -0.4]), 2000

    @jax.jit
    def draws(keys):
        return jax.vmap(lambda key: gp.draw(num_features=128, key=key)(new, key=key)[0])(keys)

    values = np.asarray(draws(jr.split(jr.key(2), count)))
    mean, variance = (float(part[0]) for part in gp.moments(new))
    assert abs(values.mean() - mean) < 4.0 * np.sqrt(variance / count)
    # Random features add a little to the spread of the sample variance itself.
    assert abs(values.var() / variance - 1.0) < 5.0 * np.sqrt(2.0 / count)


def test_rows_are_the_last_samples_newest_first_without_gaps():
    y, u = np.arange(6.0)[:, None], 10.0 * np.arange(6.0)[:, None]
    y[4] = np.nan
    table, targets = Lags(2, 1, True).table(gpssm.Episodes.from_arrays(y=y, u=u))
    np.testing.assert_array_equal(table, [[1, 0, 10], [2, 1, 20]])
    np.testing.assert_array_equal(targets, [[1], [1]])


def test_window_and_regressor_continue_the_table():
    episode = gpssm.Episode(y=np.arange(6.0), u=10.0 * np.arange(6.0))
    lags = Lags(2, 3, False)
    table, _ = lags.table(gpssm.Episodes([episode]))
    outputs, inputs = lags.window(episode.head(4))
    row = lags.regressor(jnp.asarray(outputs), jnp.asarray(inputs), jnp.asarray(episode.u[3]))
    np.testing.assert_array_equal(row, table[1])


@constant
def fitted() -> gpssm.baselines.Autoregression:
    return AutoregressiveGP.fit(records(), output_lags=1, increment=True, restarts=1, iterations=25, key=jr.key(0))


def test_learns_the_nonlinearity():
    new = record(60, seed=7)
    run = fitted().simulate(new, n_init=2, num_samples=60, key=jr.key(1))
    linear = AutoregressiveLinear.fit(records()).simulate(new, n_init=2, num_samples=60, key=jr.key(1))
    assert run.start == 2 and run.signals.shape == (60, 58, 1)
    assert gpssm.metrics.rmse(new.y[2:], run.mean) < 0.8 * gpssm.metrics.rmse(new.y[2:], linear.mean)
    assert gpssm.metrics.coverage_samples(new.y[2:], run.samples) > 0.8


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
    model = AutoregressiveLinear.fit(gpssm.Episodes([episode]), output_lags=2, ridge=0.0)
    run = model.simulate(episode, n_init=3, propagation=MeanOnly(), key=jr.key(0))
    np.testing.assert_allclose(run.mean, episode.y[3:], atol=1e-8)
    ahead = model.predict(episode, horizon=3, propagation=MeanOnly(), key=jr.key(0))
    assert ahead.start == 4
    np.testing.assert_allclose(ahead.mean, episode.y[4:], atol=1e-8)
    further = model.forecast(episode.head(10), inputs=episode.u[10:], propagation=MeanOnly(), key=jr.key(0))
    np.testing.assert_allclose(further.mean, episode.y[10:], atol=1e-8)


def test_coefficients_are_drawn_from_the_posterior_of_least_squares():
    model = AutoregressiveLinear.fit(records())
    rows, targets = model.lags.table(model.scaler.apply(records()))
    rows = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    weights = np.linalg.lstsq(rows, targets, rcond=None)[0]
    noise = ((targets - rows @ weights) ** 2).sum() / (len(rows) - 3)
    covariance = noise * np.linalg.inv(rows.T @ rows)
    chol = np.asarray(model.regression.chol) * np.sqrt(np.asarray(model.regression.noise))
    np.testing.assert_allclose(np.asarray(model.regression.weights), weights, rtol=1e-4)
    np.testing.assert_allclose(chol @ chol.T, covariance, rtol=1e-3, atol=1e-9)


def test_sparse_gp_with_ample_inducing_points_agrees_with_the_exact_one():
    settings = dict(restarts=1, iterations=25, key=jr.key(0))
    sparse = AutoregressiveGP.fit(records(), max_exact=10, num_inducing=40, **settings)
    new = record(60, seed=7)
    runs = [m.simulate(new, n_init=2, propagation=MeanOnly(), key=jr.key(0)).mean for m in (sparse, fitted())]
    assert np.sqrt(np.mean((runs[0] - runs[1]) ** 2)) < 0.15 * new.y.std()


def test_too_few_samples_to_fill_the_lags_are_refused():
    with pytest.raises(gpssm.DataError, match="n_init=1: need at least 2"):
        AutoregressiveLinear.fit(records(), output_lags=2).simulate(record(9, seed=0), n_init=1, key=jr.key(0))
