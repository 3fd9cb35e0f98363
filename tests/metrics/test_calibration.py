"""Probability integral transforms and the calibration test, against scipy and Monte-Carlo false-alarm rates."""

import numpy as np
import pytest
from scipy import stats

from gpssm import metrics


def autoregressive(rng, coefficient, steps):
    """Stationary Gaussian series of unit variance."""
    noise = rng.normal(size=steps)
    series = np.empty(steps)
    series[0] = noise[0]
    for t in range(1, steps):
        series[t] = coefficient * series[t - 1] + np.sqrt(1 - coefficient**2) * noise[t]
    return series


def alarm_rate(draw, repeats, **options):
    return np.mean([not metrics.calibration_test(draw(), **options).passed for _ in range(repeats)])


def at_most(rate, repeats):
    """Upper end of what a count with this probability shows, four deviations out."""
    return rate + 4 * np.sqrt(rate * (1 - rate) / repeats)


def test_pit_samples_is_uniform_with_ties():
    # Rounding gives many ties; with only seven samples, ranks without randomisation would be far from uniform.
    rng = np.random.default_rng(1)
    draws = np.round(rng.normal(size=(8, 4000)), 0)
    pit = metrics.pit_samples(draws[0], draws[1:], rng=rng)
    assert stats.kstest(pit, "uniform").pvalue > 1e-3
    assert metrics.calibration_test(pit).passed


def test_pit_samples_is_reproducible_and_lies_between_its_ranks():
    samples = np.array([[1.0, 1.0], [2.0, 2.0], [2.0, np.nan], [3.0, 3.0]])
    values = [metrics.pit_samples([2.0, 2.0], samples, rng=np.random.default_rng(seed)) for seed in range(200)]
    first = np.array(values)[:, 0]
    assert 0.2 <= first.min() < 0.25
    assert 0.75 < first.max() <= 0.8
    assert np.isnan(np.array(values)[:, 1]).all()
    again = metrics.pit_samples([2.0, 2.0], samples, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(again, values[0])


@pytest.mark.parametrize(("low", "high"), [(1.1, 0.9), (0.9, 1.1)], ids=["above the diagonal", "below it"])
def test_calibration_p_values_match_scipy(low, high):
    rng = np.random.default_rng(2)
    pit = rng.beta(low, high, size=150)
    result = metrics.calibration_test(pit)
    reference = stats.kstest(pit, "uniform")
    assert result.statistic == pytest.approx(reference.statistic, rel=1e-12)
    assert result.uniformity_p_value == pytest.approx(reference.pvalue, rel=0.03)
    scores = stats.norm.ppf(pit)
    chi_square = np.sum((scores - scores.mean()) ** 2)
    expected = 2 * min(stats.chi2.cdf(chi_square, 149), stats.chi2.sf(chi_square, 149))
    assert result.spread == pytest.approx(np.std(scores, ddof=1), rel=1e-12)
    assert result.spread_p_value == pytest.approx(expected, rel=1e-9)
    assert result.p_value == pytest.approx(min(1.0, 2 * min(result.uniformity_p_value, result.spread_p_value)))
    assert result.num_effective == 150


def test_exact_forecasts_pass_at_the_stated_rate():
    rng = np.random.default_rng(3)
    repeats = 1500
    rate = alarm_rate(lambda: rng.random(200), repeats, level=0.95)
    # Two tests share the level, and they overlap little: the rate is close to, and in theory not above, 5 %.
    assert 0.03 < rate < at_most(0.05, repeats)


@pytest.mark.parametrize(("factor", "spread"), [(0.8, 1.25), (1.25, 0.8)])
def test_wrong_sigma_is_flagged_and_measured(factor, spread):
    rng = np.random.default_rng(4)

    def pit():
        y = rng.normal(size=(100, 3))
        return stats.norm.cdf(y, scale=factor)

    assert alarm_rate(pit, 200) > 0.95
    y = rng.normal(size=(4000, 1))
    result = metrics.calibration_test(stats.norm.cdf(y, scale=factor))
    assert not result.passed
    # The relative error of a standard deviation of n values is 1 / sqrt(2 n).
    assert abs(result.spread / spread - 1) < 4 / np.sqrt(8000)


def test_wrong_sigma_of_samples_is_flagged():
    rng = np.random.default_rng(5)
    y, samples = rng.normal(size=600), rng.normal(size=(200, 600))
    verdicts = [
        metrics.calibration_test(metrics.pit_samples(y, factor * samples, rng=rng)).passed
        for factor in (1.0, 0.8, 1.25)
    ]
    assert verdicts == [True, False, False]


def test_bias_is_flagged_by_the_uniformity_test_alone():
    y = np.random.default_rng(6).normal(size=1000)
    result = metrics.calibration_test(stats.norm.cdf(y, loc=0.3))
    assert not result.passed
    assert result.uniformity_p_value < 1e-3
    assert result.spread_p_value > 0.01


@pytest.mark.parametrize("coefficient", [0.0, 0.8, -0.8])
def test_effective_count_matches_theory_and_restores_the_false_alarm_rate(coefficient):
    rng = np.random.default_rng(7)
    repeats, steps = 150, 600
    # The average suffers from positive correlation, the spread from correlation of either sign.
    of_average = steps * (1 - coefficient) / (1 + coefficient)
    of_spread = steps * (1 - coefficient**2) / (1 + coefficient**2)
    pits = [stats.norm.cdf(autoregressive(rng, coefficient, steps)) for _ in range(repeats)]
    counts = np.array([metrics.effective_pit_count(pit) for pit in pits])
    assert np.mean(counts) == pytest.approx(min(of_average, of_spread), rel=0.2)
    alarms = [
        not metrics.calibration_test(pit, num_effective=count).passed for pit, count in zip(pits, counts, strict=True)
    ]
    assert np.mean(alarms) < at_most(0.01, repeats)
    if coefficient:
        naive = np.mean([not metrics.calibration_test(pit).passed for pit in pits])
        assert naive > 2 * at_most(0.01, repeats)


def test_effective_count_sees_equal_channels_and_gaps():
    rng = np.random.default_rng(8)
    pit = rng.random(4000)
    doubled = metrics.effective_pit_count(np.column_stack([pit, pit]))
    assert doubled == pytest.approx(metrics.effective_pit_count(pit), rel=0.15)
    independent = metrics.effective_pit_count(rng.random((4000, 2)))
    assert independent > 1.5 * doubled
    where = rng.random(4000) < 0.5
    with_gaps = metrics.effective_pit_count(np.where(where, pit, np.nan), where=where)
    assert 0.8 * where.sum() < with_gaps <= where.sum()
    assert metrics.effective_pit_count(np.full(10, 0.5)) == 2.0


def test_extreme_transforms_stay_finite():
    result = metrics.calibration_test(np.array([0.0, 1.0] * 20))
    assert not result.passed
    assert np.isfinite(result.spread)


def test_bad_transforms_are_refused():
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        metrics.calibration_test([0.5, 1.5])
    with pytest.raises(ValueError, match="nan"):
        metrics.calibration_test([0.5, np.nan])
    with pytest.raises(ValueError, match="at least two"):
        metrics.calibration_test([0.5])
    for wrong in (1.0, 4.0):
        with pytest.raises(ValueError, match="num_effective"):
            metrics.calibration_test([0.1, 0.5, 0.9], num_effective=wrong)
    with pytest.raises(ValueError, match="one episode"):
        metrics.effective_pit_count(np.full((2, 3, 4), 0.5))
