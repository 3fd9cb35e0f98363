"""The effective sample size, against the variance of averages that it stands for."""

import numpy as np
import pytest

from gpssm import metrics


def autoregressive(rng, coefficient, shape):
    """Stationary Gaussian series along the first axis."""
    noise = rng.normal(size=shape)
    series = np.empty(shape)
    series[0] = noise[0] / np.sqrt(1 - coefficient**2)
    for t in range(1, shape[0]):
        series[t] = coefficient * series[t - 1] + noise[t]
    return series


@pytest.mark.parametrize("coefficient", [0.0, 0.5, 0.8])
def test_it_says_how_uncertain_an_average_is(coefficient):
    """Averages of many series vary as their variance over the number that each is worth."""
    rng = np.random.default_rng(0)
    series = autoregressive(rng, coefficient, (800, 400))
    worth = np.mean([metrics.effective_sample_size(one) for one in series.T])
    assert worth == pytest.approx(800 * (1 - coefficient) / (1 + coefficient), rel=0.2)
    assert worth == pytest.approx(series.var() / series.mean(axis=0).var(), rel=0.3)


def test_values_that_alternate_are_worth_no_more_than_their_number():
    assert metrics.effective_sample_size(autoregressive(np.random.default_rng(1), -0.8, (500,))) == 500.0


def test_channels_that_repeat_each_other_count_once():
    values = np.random.default_rng(2).normal(size=4000)
    once = metrics.effective_sample_size(values)
    assert metrics.effective_sample_size(np.column_stack([values, values])) == pytest.approx(once, rel=0.15)
    assert metrics.effective_sample_size(np.random.default_rng(3).normal(size=(4000, 2))) > 1.5 * once


def test_gaps_are_left_out_where_they_are():
    """A slow series that is seen at every tenth step: closing the gaps up would make neighbours of strangers."""
    series = autoregressive(np.random.default_rng(4), 0.8, (4000,))
    where = np.arange(4000) % 10 == 0
    worth = metrics.effective_sample_size(np.where(where, series, np.nan), where=where)
    assert 0.6 * 400 < worth <= 400, "ten steps apart, values are nearly independent"


def test_a_known_mean_counts_against_a_series_that_is_off_it():
    series = np.random.default_rng(5).normal(size=200)
    assert metrics.effective_sample_size(series + 3.0) == pytest.approx(metrics.effective_sample_size(series))
    assert metrics.effective_sample_size(series + 3.0, mean=0.0) < 10.0


def test_what_does_not_vary_is_worth_one():
    assert metrics.effective_sample_size(np.full(5, 2.0)) == 1.0
    assert metrics.effective_sample_size([3.0]) == 1.0


def test_bad_series_are_refused():
    with pytest.raises(ValueError, match="one series"):
        metrics.effective_sample_size(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match="nan"):
        metrics.effective_sample_size([1.0, np.nan])
    with pytest.raises(ValueError, match="nothing to score"):
        metrics.effective_sample_size([1.0, 2.0], where=[False, False])
