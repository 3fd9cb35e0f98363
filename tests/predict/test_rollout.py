"""The object that every prediction returns."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gpssm


def _rollout(num_samples: int, steps: int, *, dt: float | None = None, seed: int = 0) -> gpssm.Rollout:
    rng = np.random.default_rng(seed)
    signals = rng.standard_normal((num_samples, steps, 2)) * np.array([1.0, 3.0]) + np.array([5.0, -2.0])
    noise_std = np.array([0.5, 2.0])
    return gpssm.Rollout(
        start=4,
        signals=signals,
        samples=signals + noise_std * rng.standard_normal(signals.shape),
        states=signals,
        noise_std=noise_std,
        output_names=("a", "b"),
        dt=dt,
    )


def test_moments_are_those_of_the_signals_plus_noise():
    rollout = _rollout(50, 7)
    assert_allclose(rollout.mean, rollout.signals.mean(axis=0))
    for t in range(7):
        expected = np.cov(rollout.signals[:, t].T, bias=True) + np.diag(rollout.noise_std**2)
        assert_allclose(rollout.covariance[t], expected)
        assert_allclose(rollout.std[t], np.sqrt(np.diag(expected)))


def test_quantiles_are_ordered_and_intervals_nested():
    rollout = _rollout(60, 9)
    levels = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99]
    quantiles = np.stack([rollout.quantile(level) for level in levels])
    assert np.all(np.diff(quantiles, axis=0) >= 0.0)
    low, high = rollout.interval(0.5)
    lower, higher = rollout.interval(0.9)
    assert np.all((lower < low) & (low < high) & (high < higher))


def test_few_samples_have_the_quantiles_of_a_gaussian():
    rollout = _rollout(10, 6)
    assert_allclose(rollout.quantile(0.9), rollout.mean + 1.2815515655446004 * rollout.std, rtol=1e-12)
    assert_allclose(rollout.central_std, rollout.std)
    low, high = rollout.interval(0.95)
    assert_allclose(high - low, 2.0 * 1.959963984540054 * rollout.std, rtol=1e-12)


@pytest.mark.parametrize("num_samples", [39, 100, 200])
def test_an_interval_holds_a_further_draw_with_its_probability(num_samples):
    """A 95 % interval from S samples must hold 95 % of further draws, whatever S (from 39 on)."""
    steps = 4000
    rollout = _rollout(num_samples, steps)
    fresh = _rollout(1, steps, seed=1).samples[0]
    low, high = rollout.interval(0.95)
    covered = np.mean((low <= fresh) & (fresh <= high))
    assert abs(covered - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / (2 * steps))


@pytest.mark.parametrize(("dt", "expected"), [(None, [4.0, 5.0, 6.0]), (0.5, [2.0, 2.5, 3.0])])
def test_time_counts_from_the_start_of_the_record(dt, expected):
    rollout = _rollout(3, 3, dt=dt)
    assert len(rollout) == 3
    assert_allclose(rollout.time, expected)


def test_median_and_central_spread_ignore_the_few_that_leave():
    """Of Gaussian trajectories they are mean and standard deviation; a few far ones change them hardly at all."""
    count = 4000
    gaussian = _rollout(count, 3)
    scale = gaussian.signals.std(axis=0)
    assert np.all(np.abs(gaussian.median - gaussian.mean) < 5.0 * scale / np.sqrt(count))
    assert_allclose(gaussian.central_std, gaussian.std, rtol=0.05)
    signals = gaussian.signals.copy()
    signals[: count // 100] += 1000.0
    astray = dataclasses.replace(gaussian, signals=signals)
    assert np.all(astray.std > 50.0)
    assert np.all(np.abs(astray.median - gaussian.median) < 0.05 * scale)
    assert_allclose(astray.central_std, gaussian.central_std, rtol=0.05)


def test_the_central_spread_of_few_trajectories_is_their_standard_deviation():
    few = _rollout(5, 3)
    np.testing.assert_array_equal(few.central_std, few.std)


def test_trajectories_are_spread_about_their_median():
    rollout = _rollout(40, 6)
    wide = rollout.spread_by(1.5)
    for part in ("signals", "samples"):
        before, after = getattr(rollout, part) - rollout.median, getattr(wide, part) - rollout.median
        assert_allclose(after, 1.5 * before)
    assert_allclose(wide.median, rollout.median)
    assert_allclose(wide.std, 1.5 * rollout.std)
    (low, high), (lower, higher) = rollout.interval(0.9), wide.interval(0.9)
    assert_allclose(higher - lower, 1.5 * (high - low))
    np.testing.assert_array_equal(wide.states, rollout.states)
    assert rollout.spread_by(1.0) is rollout


def test_what_has_left_all_bounds_is_spread_no_further():
    signals = np.array([[[1.0]], [[2.0]], [[np.inf]], [[-1.7e308]], [[3.0]]])
    rollout = dataclasses.replace(_rollout(5, 1), signals=signals, samples=signals, noise_std=np.ones(1))
    assert_allclose(rollout.spread_by(2.0).signals[:, 0, 0], [0.0, 2.0, np.inf, -1.7e308, 4.0])
