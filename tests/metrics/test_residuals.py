"""Whiteness and input-independence tests, against definitions, scipy and Monte-Carlo false-alarm rates."""

import itertools

import numpy as np
import pytest
from scipy import stats

from gpssm import metrics
from gpssm.metrics._autoregression import extended_autocorrelation
from gpssm.metrics._portmanteau import white_noise_law
from tests.reference.quadratic_forms import quadratic_forms


def autoregressive(rng, coefficient, shape):
    """Stationary Gaussian series along the first axis."""
    noise = rng.normal(size=shape)
    series = np.empty(shape)
    series[0] = noise[0] / np.sqrt(1 - coefficient**2)
    for t in range(1, shape[0]):
        series[t] = coefficient * series[t - 1] + noise[t]
    return series


def band(rate, repeats):
    """Four binomial deviations."""
    return 4 * np.sqrt(rate * (1 - rate) / repeats)


@pytest.mark.parametrize("gaps", [False, True])
def test_white_noise_law_matches_traces_of_quadratic_forms(gaps):
    steps, num_lags = 24, 5
    scored = np.ones(steps, dtype=bool)
    if gaps:
        scored[[3, 4, 11, 17]] = False
    law = white_noise_law(scored, num_lags)
    count = scored.sum()
    forms = quadratic_forms(scored, num_lags)
    centring = np.diag(scored.astype(float)) - np.outer(scored, scored) / count
    for k, form in enumerate(forms):
        inner = centring @ form @ centring
        second = 2 * np.trace(inner @ inner) + np.trace(inner) ** 2
        assert law.mean[k] == pytest.approx(np.trace(inner) / (count - 1), rel=1e-10)
        variance = second / ((count - 1) * (count + 1)) - law.mean[k] ** 2
        assert law.variance[k] == pytest.approx(variance, rel=1e-10)

    # E[C_k^2 C_l^2] from the joint cumulants of quadratic forms with zero trace.
    total = 0.0
    for a, b in itertools.product(forms, forms):
        fourth = 8 * sum(np.trace(a @ x @ y @ z) for x, y, z in itertools.permutations((a, b, b)))
        moment = fourth + 4 * (np.trace(a @ a) * np.trace(b @ b) + 2 * np.trace(a @ b) ** 2)
        total += moment / (2 * np.trace(a @ a)) / (2 * np.trace(b @ b))
    total *= count * (count + 2) / ((count + 4) * (count + 6))
    assert law.total_variance == pytest.approx(total - num_lags**2, rel=1e-9)


def test_white_noise_law_skewness_matches_simulation():
    rng = np.random.default_rng(0)
    steps, num_lags = 200, 8
    law = white_noise_law(np.ones(steps, dtype=bool), num_lags)
    totals = np.concatenate(
        [metrics.residual_whiteness(rng.normal(size=(steps, 4000)), lags=num_lags).statistic for _ in range(4)]
    )
    batches = [stats.skew(block) for block in totals.reshape(40, -1)]
    error = np.std(batches, ddof=1) / np.sqrt(len(batches))  # batches only for the error: their skewness is biased
    chi_square = np.sqrt(8 / num_lags)
    assert law.total_skewness > chi_square * 1.03
    assert abs(stats.skew(totals) - law.total_skewness) < 4 * error


def test_autocorrelation_is_the_definition_with_gaps():
    rng = np.random.default_rng(1)
    residuals = rng.normal(size=(50, 2)) + 3.0
    where = rng.random(residuals.shape) < 0.8
    result = metrics.residual_whiteness(np.where(where, residuals, np.nan), lags=4, where=where)
    for o, (index, lag) in itertools.product(range(2), enumerate(result.lags)):
        e, w = residuals[:, o] - residuals[where[:, o], o].mean(), where[:, o]
        products = sum(e[t] * e[t + lag] for t in range(50 - lag) if w[t] and w[t + lag])
        assert result.autocorrelation[index, o] == pytest.approx(products / np.sum(e[w] ** 2), rel=1e-10)
    assert result.lags.tolist() == [1, 2, 3, 4]


def test_statistic_approaches_ljung_box():
    residuals = np.random.default_rng(2).normal(size=20_000)
    result = metrics.residual_whiteness(residuals, lags=10)
    r = result.autocorrelation[:, 0]
    ljung_box = 20_000 * 20_002 * np.sum(r**2 / (20_000 - np.arange(1, 11)))
    assert result.statistic[0] == pytest.approx(ljung_box, rel=0.02)
    assert result.p_value == pytest.approx(stats.chi2.sf(ljung_box, 10), abs=0.01)


@pytest.mark.parametrize("fraction", [1.0, 0.7])
def test_whiteness_false_alarm_rate(fraction):
    rng = np.random.default_rng(3)
    steps, repeats = 300, 4000
    where = np.repeat(rng.random((steps, 1)) < fraction, repeats, axis=1)
    result = metrics.residual_whiteness(rng.normal(size=(steps, repeats)), where=where)
    for level in (0.05, 0.01):
        rate = np.mean(result.channel_p_values < level)
        assert abs(rate - level) < band(level, repeats) + 0.001
    outside = np.mean((result.autocorrelation < result.lower) | (result.autocorrelation > result.upper))
    # Lags of one series are nearly uncorrelated, so all 25 count.
    assert abs(outside - 0.01) < band(0.01, 25 * repeats) + 0.0005


@pytest.mark.slow
def test_whiteness_false_alarm_rate_is_one_percent_within_a_fifth():
    rng = np.random.default_rng(4)
    p_values = np.concatenate(
        [metrics.residual_whiteness(rng.normal(size=(300, 1000))).channel_p_values for _ in range(10)]
    )
    assert abs(np.mean(p_values < 0.01) - 0.01) <= 0.002
    # The chi-square limit fails this; were it good enough, the corrected law would not be needed.
    statistics = np.concatenate([metrics.residual_whiteness(rng.normal(size=(300, 1000))).statistic for _ in range(10)])
    assert np.mean(stats.chi2.sf(statistics, 25) < 0.01) > 0.0135


def test_coloured_residuals_fail():
    rng = np.random.default_rng(5)
    # Sum of squared autocorrelations times 300: a noncentrality of 57, some 98 % of which lies above the 1 % point.
    coloured = metrics.residual_whiteness(autoregressive(rng, 0.4, (300, 200)))
    assert np.mean(coloured.channel_p_values < 0.01) > 0.9
    assert not coloured.passed
    mixed = np.column_stack([rng.normal(size=300), autoregressive(rng, 0.6, (300,))])
    result = metrics.residual_whiteness(mixed)
    assert not result.passed
    assert result.p_value == pytest.approx(2 * result.channel_p_values.min())
    assert metrics.residual_whiteness(mixed[:, 0]).passed


def test_bad_residuals_are_refused():
    e = np.random.default_rng(6).normal(size=(20, 2))
    for lags in (0, 20):
        with pytest.raises(ValueError, match="lags must lie between 1 and 19"):
            metrics.residual_whiteness(e, lags=lags)
    with pytest.raises(ValueError, match="channel 1 is constant"):
        metrics.residual_whiteness(e * [1.0, 0.0], lags=3)
    with pytest.raises(ValueError, match="must have shape"):
        metrics.residual_whiteness(e[None], lags=3)
    with pytest.raises(ValueError, match="1 apart"):
        metrics.residual_whiteness(e, lags=3, where=(np.arange(20) % 2 == 0)[:, None])
    with pytest.raises(ValueError, match="nan"):
        metrics.residual_whiteness(np.where(e > 1, np.nan, e), lags=3)


def test_cross_correlation_and_joint_test_match_a_regression():
    rng = np.random.default_rng(7)
    steps, lags = 80, 3
    u = autoregressive(rng, 0.9, (steps, 2))
    e = rng.normal(size=(steps, 2)) + 0.1 * u
    where = rng.random(e.shape) < 0.8
    result = metrics.input_independence(e, u, lags=lags, where=where)
    for o in range(2):
        rows = [t for t in range(lags, steps) if where[t, o]]
        response = e[rows, o]
        columns = np.array([[u[t - k, p] for p in range(2) for k in range(lags + 1)] for t in rows])
        for p, k in itertools.product(range(2), range(lags + 1)):
            correlation, p_value = np.asarray(stats.pearsonr(columns[:, p * (lags + 1) + k], response))
            assert result.cross_correlation[k, o, p] == pytest.approx(correlation, rel=1e-9)
            inside = abs(result.cross_correlation[k, o, p]) <= result.bound[k, o, p]
            assert inside == (p_value >= 0.01)
        design = np.column_stack([np.ones(len(rows)), columns])
        fitted = design @ np.linalg.lstsq(design, response, rcond=None)[0]
        explained = np.sum((fitted - response.mean()) ** 2)
        freedom = len(rows) - 9
        f_value = explained / 8 / (np.sum((response - fitted) ** 2) / freedom)
        assert result.channel_p_values[o] == pytest.approx(stats.f.sf(f_value, 8, freedom), rel=1e-8)


def test_independence_false_alarm_rate_with_coloured_inputs():
    rng = np.random.default_rng(8)
    steps, repeats = 200, 3000
    u = autoregressive(rng, 0.95, (steps, 2))
    result = metrics.input_independence(rng.normal(size=(steps, repeats)), u)
    for level in (0.05, 0.01):
        assert abs(np.mean(result.channel_p_values < level) - level) < band(level, repeats)
    # Neighbouring lags of a slow input are one and the same test, so judge each lag by itself.
    outside = np.mean(np.abs(result.cross_correlation) > result.bound, axis=1)
    assert np.all(np.abs(outside - 0.01) < 1.25 * band(0.01, repeats))


def test_coloured_residuals_need_their_own_bound():
    rng = np.random.default_rng(9)
    steps, repeats = 500, 200
    u = autoregressive(rng, 0.9, (steps,))
    e = autoregressive(rng, 0.8, (steps, repeats))
    naive = metrics.input_independence(e, u, lags=10)
    assert np.mean(np.abs(naive.cross_correlation) > naive.bound) > 0.15
    assert np.mean(naive.channel_p_values < 0.01) > 0.1
    honest = metrics.input_independence(e, u, lags=10, residual_order=2)
    # Correlations at neighbouring lags move together: about one independent trial per series.
    assert np.mean(np.abs(honest.cross_correlation) > honest.bound) < 0.01 + band(0.01, repeats)
    assert np.mean(honest.channel_p_values < 0.01) < 0.01 + band(0.01, repeats)
    spread = np.std(honest.cross_correlation[..., 0], axis=1)
    predicted = np.mean(honest.bound[..., 0], axis=1) / stats.norm.ppf(0.995)
    np.testing.assert_allclose(predicted, spread, rtol=4 / np.sqrt(2 * repeats))


def test_coloured_bound_is_the_sum_of_autocovariance_products():
    rng = np.random.default_rng(10)
    steps, order = 60, 3
    u, e = autoregressive(rng, 0.7, (steps,)), autoregressive(rng, 0.5, (steps,))
    result = metrics.input_independence(e, u, lags=0, residual_order=order, level=0.9)
    u, e = u - u.mean(), e - e.mean()
    rho = extended_autocorrelation(e, np.ones(steps, dtype=bool), order)
    r_u = np.array([u[: steps - k] @ u[k:] for k in range(steps)]) / (u @ u)
    variance = (1 + 2 * rho[1:] @ r_u[1:]) / steps
    assert result.bound[0, 0, 0] == pytest.approx(stats.norm.ppf(0.95) * np.sqrt(variance), rel=1e-9)


def test_extended_autocorrelation_solves_yule_walker():
    rng = np.random.default_rng(11)
    e = autoregressive(rng, 0.6, (40,))
    e = e - e.mean()
    everything = np.ones(40, dtype=bool)
    sample = np.array([e[: 40 - k] @ e[k:] for k in range(4)]) / (e @ e)
    toeplitz = sample[np.abs(np.subtract.outer(np.arange(3), np.arange(3)))]
    coefficients = np.linalg.solve(toeplitz, sample[1:])
    expected = list(sample)
    for _ in range(4, 40):
        expected.append(coefficients @ expected[-1:-4:-1])
    np.testing.assert_allclose(extended_autocorrelation(e, everything, 3), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(extended_autocorrelation(e, everything, 0), np.eye(40)[0])


def test_a_missed_response_is_found_at_its_lag():
    rng = np.random.default_rng(12)
    u = autoregressive(rng, 0.5, (400,))
    e = rng.normal(size=400)
    e[3:] += 0.4 * u[:-3]
    for order in (0, 3):
        result = metrics.input_independence(e, u, lags=8, residual_order=order)
        assert not result.passed
        assert result.lags[np.argmax(np.abs(result.cross_correlation[:, 0, 0]))] == 3
    later = metrics.input_independence(e, u, lags=8, first_lag=2)
    np.testing.assert_array_equal(later.lags, np.arange(2, 9))
    full = metrics.input_independence(e, u, lags=8)
    np.testing.assert_allclose(later.cross_correlation, full.cross_correlation[2:], rtol=1e-12)


def test_first_lag_leaves_out_feedback():
    rng = np.random.default_rng(13)
    e = rng.normal(size=300)
    u = -0.8 * e + rng.normal(size=300)
    assert not metrics.input_independence(e, u, lags=5).passed
    assert metrics.input_independence(e, u, lags=5, first_lag=1).passed


def test_inputs_with_few_frequencies_are_handled():
    rng = np.random.default_rng(14)
    u = np.sin(0.3 * np.arange(300))
    result = metrics.input_independence(rng.normal(size=(300, 2000)), u, lags=20)
    assert abs(np.mean(result.channel_p_values < 0.05) - 0.05) < band(0.05, 2000)


def test_bad_inputs_are_refused():
    rng = np.random.default_rng(15)
    e, u = rng.normal(size=(2, 30))
    with pytest.raises(ValueError, match="30 steps, inputs have 29"):
        metrics.input_independence(e, u[:-1], lags=2)
    with pytest.raises(ValueError, match="input 1 at lag 0 is constant"):
        metrics.input_independence(e, np.column_stack([u, np.ones(30)]), lags=2)
    with pytest.raises(ValueError, match="use fewer lags"):
        metrics.input_independence(e, u, lags=15)
    for options in ({"lags": 30}, {"lags": 2, "first_lag": 3}, {"lags": 2, "first_lag": -1}):
        with pytest.raises(ValueError, match="first_lag"):
            metrics.input_independence(e, u, **options)
    with pytest.raises(ValueError, match="residual_order"):
        metrics.input_independence(e, u, lags=2, residual_order=-1)
    with pytest.raises(ValueError, match="inputs"):
        metrics.input_independence(e, np.where(u > 1, np.nan, u), lags=2)
