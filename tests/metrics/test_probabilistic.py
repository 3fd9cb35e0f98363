"""Log densities, coverage and ranked probability scores, against scipy, scoringrules and Monte Carlo."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gpssm import metrics


@pytest.fixture
def forecast():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(30, 2)) * [1.0, 20.0]
    mean = y + rng.normal(size=y.shape) * [0.5, 8.0]
    std = np.exp(rng.normal(size=y.shape) * 0.3) * [0.5, 8.0]
    samples = mean + std * rng.normal(size=(64, 30, 2))
    where = rng.random(y.shape) < 0.6
    return y, mean, std, samples, where


def spoil(where, *arrays):
    """Copies with NaN where nothing is scored, which must not matter."""
    return [np.where(where, array, np.nan) for array in arrays]


def test_log_density_gaussian_matches_scipy(forecast):
    y, mean, std, _, where = forecast
    expected = stats.norm.logpdf(y, mean, std)
    assert metrics.log_density_gaussian(y, mean, std) == pytest.approx(expected.mean(), rel=1e-12)
    score = metrics.log_density_gaussian(*spoil(where, y, mean, std), where=where)
    assert score == pytest.approx(expected[where].mean(), rel=1e-12)
    per_channel = metrics.log_density_gaussian(y, mean, [0.5, 8.0])
    assert per_channel == pytest.approx(stats.norm.logpdf(y, mean, [0.5, 8.0]).mean(), rel=1e-12)


def test_log_density_samples_is_the_log_of_the_mixture(forecast):
    y, _, _, samples, where = forecast
    noise = np.array([0.3, 2.0])
    expected = np.log(np.mean(stats.norm.pdf(y, samples, noise), axis=0))
    assert metrics.log_density_samples(y, samples, noise) == pytest.approx(expected.mean(), rel=1e-10)
    y_bad, samples_bad = spoil(where, y, samples)
    score = metrics.log_density_samples(y_bad, samples_bad, noise, where=where)
    assert score == pytest.approx(expected[where].mean(), rel=1e-10)


def test_log_density_samples_survives_far_samples():
    # Densities underflow at forty deviations, their logarithms do not; the near sample carries the mixture.
    score = metrics.log_density_samples([0.0], [[40.0], [50.0]], 1.0)
    assert score == pytest.approx(-800.0 - 0.5 * np.log(2 * np.pi) - np.log(2), rel=1e-12)


def test_log_density_samples_approaches_the_gaussian_it_was_drawn_from():
    rng = np.random.default_rng(1)
    state_std, noise_std = 0.8, 0.6
    y = rng.normal(size=(50, 1))
    samples = state_std * rng.normal(size=(20_000, 50, 1))
    exact = metrics.log_density_gaussian(y, np.zeros_like(y), 1.0)
    # Delta method: the error of the log is that of the average over its value, and errors are independent over entries.
    densities = stats.norm.pdf(y, samples, noise_std)
    relative = densities.std(axis=0) / densities.mean(axis=0) / np.sqrt(len(samples))
    error = np.sqrt(np.sum(relative**2)) / len(y)
    assert abs(metrics.log_density_samples(y, samples, noise_std) - exact) < 4 * error


def test_coverage_counts_entries(forecast):
    y, mean, std, _, where = forecast
    low, high = stats.norm.interval(0.8, mean, std)
    inside = (low <= y) & (y <= high)
    assert 0.0 < inside.mean() < 1.0
    assert metrics.interval_coverage(y, low, high) == inside.mean()
    assert metrics.interval_coverage(*spoil(where, y, low, high), where=where) == inside[where].mean()
    assert metrics.interval_coverage([1.0, 2.0], [1.0, 1.0], [2.0, 2.0]) == 1.0
    assert metrics.interval_coverage([1.0, 2.0], [np.nan, 1.0], [2.0, 2.0]) == 0.5
    with pytest.raises(ValueError, match="lower exceeds upper"):
        metrics.interval_coverage(y, high, low)


@pytest.fixture(scope="module")
def scoringrules():
    """Slow to import: it compiles."""
    return pytest.importorskip("scoringrules")


@pytest.mark.system
def test_crps_matches_scoringrules(forecast, scoringrules):
    y, _, _, samples, where = forecast
    fair = np.asarray(scoringrules.crps_ensemble(y, samples, m_axis=0, estimator="fair"))
    assert metrics.crps_samples(y, samples) == pytest.approx(np.mean(fair), rel=1e-10)
    y_bad, samples_bad = spoil(where, y, samples)
    assert metrics.crps_samples(y_bad, samples_bad, where=where) == pytest.approx(fair[where].mean(), rel=1e-10)


@pytest.mark.system
def test_crps_of_few_samples_is_unbiased(scoringrules):
    rng = np.random.default_rng(2)
    y = np.full(40_000, 0.7)
    samples = rng.normal(size=(3, 40_000))
    exact = float(np.asarray(scoringrules.crps_normal(0.7, 0.0, 1.0)))
    scores = [metrics.crps_samples(y[:400], block) for block in samples.reshape(3, 100, 400).transpose(1, 0, 2)]
    assert abs(np.mean(scores) - exact) < 4 * np.std(scores, ddof=1) / np.sqrt(len(scores))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(2, 12), offset=st.floats(-1e6, 1e6))
def test_crps_of_samples_matches_the_double_sum(seed, count, offset):
    rng = np.random.default_rng(seed)
    samples, y = rng.normal(size=(count, 4)), rng.normal(size=4)
    pairs = np.abs(samples[:, None] - samples[None, :]).sum(axis=(0, 1)) / (count * (count - 1))
    expected = np.mean(np.abs(samples - y).mean(axis=0) - 0.5 * pairs)
    assert metrics.crps_samples(y + offset, samples + offset) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_bad_gaussian_arguments_are_refused(forecast):
    y, mean, std, _, where = forecast
    density = metrics.log_density_gaussian
    with pytest.raises(ValueError, match="mean has shape"):
        density(y, mean.T, std)
    with pytest.raises(ValueError, match="std has shape"):
        density(y, mean, std[:, [0, 1, 1]])
    for wrong in (0.0, -1.0):
        bad = np.where(where, wrong, std)
        with pytest.raises(ValueError, match="std must be positive"):
            density(y, mean, bad)
        assert np.isfinite(density(y, mean, bad, where=~where))
    with pytest.raises(ValueError, match="nothing to score"):
        density(y, mean, std, where=np.zeros_like(where))


def test_bad_samples_are_refused(forecast):
    y, _, _, samples, _ = forecast
    for bad in (samples[:, :-1], samples[0], samples[..., 0]):
        with pytest.raises(ValueError, match="samples have shape"):
            metrics.crps_samples(y, bad)
        with pytest.raises(ValueError, match="samples have shape"):
            metrics.log_density_samples(y, bad, 1.0)
    with pytest.raises(ValueError, match="too few"):
        metrics.crps_samples(y, samples[:1])
    with pytest.raises(ValueError, match="too few"):
        metrics.log_density_samples(y, samples[:0], 1.0)
    with pytest.raises(ValueError, match="noise_std must be positive"):
        metrics.log_density_samples(y, samples, 0.0)
