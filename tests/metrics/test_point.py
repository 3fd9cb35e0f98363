"""Point errors and latent-state recovery, against scikit-learn and plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

from gpssm import metrics

POINT_METRICS = [metrics.rmse, metrics.mae, metrics.nrmse_std, metrics.fit_percent, metrics.r2]


@pytest.fixture
def outputs():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(40, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, -2.0]
    mean = y + rng.normal(size=y.shape) * [0.3, 1.0, 0.2]
    return y, mean


def test_point_metrics_match_scikit_learn(outputs):
    y, mean = outputs
    assert metrics.rmse(y, mean) == pytest.approx(np.sqrt(mean_squared_error(y, mean)), rel=1e-12)
    assert metrics.mae(y, mean) == pytest.approx(mean_absolute_error(y, mean), rel=1e-12)
    assert metrics.r2(y, mean) == pytest.approx(r2_score(y, mean), rel=1e-12)


def test_relative_errors_match_loops_over_channels(outputs):
    y, mean = outputs
    nrmse, fit = [], []
    for o in range(y.shape[1]):
        error = np.linalg.norm(y[:, o] - mean[:, o])
        nrmse.append(error / np.sqrt(len(y)) / np.std(y[:, o]))
        fit.append(100 * (1 - error / np.linalg.norm(y[:, o] - np.mean(y[:, o]))))
    assert metrics.nrmse_std(y, mean) == pytest.approx(np.mean(nrmse), rel=1e-12)
    assert metrics.fit_percent(y, mean) == pytest.approx(np.mean(fit), rel=1e-12)


def test_perfect_and_constant_predictions(outputs):
    y, _ = outputs
    average = np.broadcast_to(y.mean(axis=0), y.shape)
    assert metrics.fit_percent(y, y) == 100.0
    assert metrics.r2(y, y) == 1.0
    assert metrics.nrmse_std(y, average) == pytest.approx(1.0, rel=1e-12)
    assert metrics.fit_percent(y, average) == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("metric", POINT_METRICS)
def test_masked_entries_do_not_count(outputs, metric):
    y, mean = outputs
    where = np.ones(y.shape, dtype=bool)
    where[25:] = False
    expected = metric(y[:25], mean[:25])
    y, mean = y.copy(), mean.copy()
    y[25:], mean[30:] = np.nan, np.inf
    assert metric(y, mean, where=where) == pytest.approx(expected, rel=1e-12)
    assert metric(y, mean, where=where[:, :1]) == pytest.approx(expected, rel=1e-12)


def test_channels_without_scored_entries_are_left_out(outputs):
    y, mean = outputs
    where = np.ones(y.shape, dtype=bool)
    where[:, 1] = False
    assert metrics.r2(y, mean, where=where) == pytest.approx(r2_score(y[:, [0, 2]], mean[:, [0, 2]]), rel=1e-12)


@pytest.mark.parametrize("metric", POINT_METRICS)
def test_shapes_with_leading_axes_and_single_channels(outputs, metric):
    y, mean = outputs
    stacked = metric(y.reshape(4, 10, 3), mean.reshape(4, 10, 3))
    assert stacked == pytest.approx(metric(y, mean), rel=1e-12)
    assert metric(y[:, 0], mean[:, 0]) == pytest.approx(metric(y[:, :1], mean[:, :1]), rel=1e-12)
    assert metric(y[:, 0].tolist(), mean[:, 0].tolist()) == pytest.approx(metric(y[:, 0], mean[:, 0]), rel=1e-12)


@pytest.mark.parametrize("metric", POINT_METRICS)
def test_bad_arguments_are_refused(outputs, metric):
    y, mean = outputs
    with pytest.raises(ValueError, match=r"mean has shape \(39, 3\) but y has shape \(40, 3\)"):
        metric(y, mean[:-1])
    with pytest.raises(ValueError, match="nothing to score"):
        metric(y, mean, where=np.zeros(y.shape, dtype=bool))
    with pytest.raises(ValueError, match="nothing to score"):
        metric(np.zeros((0, 2)), np.zeros((0, 2)))
    with pytest.raises(ValueError, match="where has shape"):
        metric(y, mean, where=np.ones(len(y), dtype=bool))
    with pytest.raises(ValueError, match="boolean"):
        metric(y, mean, where=np.ones(y.shape))
    missing = y.copy()
    missing[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"y\[3, 1\] is nan"):
        metric(missing, mean)


@pytest.mark.parametrize("metric", [metrics.nrmse_std, metrics.fit_percent, metrics.r2])
def test_constant_channel_is_refused(metric):
    y = np.column_stack([np.arange(7.0), np.full(7, 0.1)])
    with pytest.raises(ValueError, match="channel 1 is constant"):
        metric(y, y + 0.1)


def test_diverged_prediction_scores_nan(outputs):
    y, mean = outputs
    mean[-1, 0] = np.nan
    assert np.isnan(metrics.rmse(y, mean))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-100.0, 100.0),
)
def test_relative_errors_do_not_know_units(seed, scale, shift):
    rng = np.random.default_rng(seed)
    y, mean = rng.normal(size=(2, 12, 2))
    for metric in (metrics.nrmse_std, metrics.fit_percent, metrics.r2):
        changed = metric(scale * y + shift, scale * mean + shift)
        assert changed == pytest.approx(metric(y, mean), rel=1e-6, abs=1e-6)
    assert metrics.rmse(scale * y, scale * mean) == pytest.approx(scale * metrics.rmse(y, mean), rel=1e-9)
    assert metrics.mae(y, mean) <= metrics.rmse(y, mean) * (1 + 1e-12)


def test_state_r2_matches_a_linear_regression():
    rng = np.random.default_rng(2)
    latent = rng.normal(size=(60, 3)) * [1.0, 1e6, 1e-6] + 4.0
    velocity = latent @ [0.5, -1e-6, 2e6] + 0.5 * rng.normal(size=60)
    standard = (latent - latent.mean(axis=0)) / latent.std(axis=0)
    expected = LinearRegression().fit(standard, velocity).score(standard, velocity)
    assert 0.5 < expected < 0.99
    assert metrics.state_r2(velocity, latent) == pytest.approx(expected, rel=1e-9)
    episodes = metrics.state_r2(velocity.reshape(3, 20), latent.reshape(3, 20, 3))
    assert episodes == pytest.approx(expected, rel=1e-9)
    other = rng.normal(size=60)
    weak = LinearRegression().fit(standard, other).score(standard, other)
    both = metrics.state_r2(np.column_stack([velocity, other]), latent)
    assert both == pytest.approx(0.5 * (expected + weak), rel=1e-9)


def test_state_r2_scores_selected_steps_only():
    rng = np.random.default_rng(3)
    latent = rng.normal(size=(30, 2))
    signal = latent @ [1.0, 2.0] - 3.0
    signal[20:] = np.nan
    assert metrics.state_r2(signal, latent, where=np.arange(30) < 20) == pytest.approx(1.0, abs=1e-12)
    with pytest.raises(ValueError, match="true"):
        metrics.state_r2(signal, latent)
    with pytest.raises(ValueError, match="affine map"):
        metrics.state_r2(signal[:3], latent[:3])
    with pytest.raises(ValueError, match="true has shape"):
        metrics.state_r2(signal[:10], latent)
    with pytest.raises(ValueError, match="latent must have shape"):
        metrics.state_r2(signal, signal)
