"""The statistics behind the verdict, on predictions whose quality is known."""

from dataclasses import replace

import numpy as np
import pytest

import gpssm
from gpssm.evaluate import Score, score
from gpssm.evaluate._score import CONFIDENCE, coverage_of
from gpssm.predict import Rollout
from gpssm.reporting._compare import difference_p_value
from gpssm.reporting._finding import Direction, Grade
from gpssm.reporting._kind import kind_of
from gpssm.reporting._residuals import _independence, _whiteness, residual_tests
from gpssm.reporting._trust_bands import bands
from tests.report.conftest import constant


def rollouts(rng, sigma: float, *, steps: int, records: int, samples: int = 99):
    """Exact Gaussian predictions, with the deviation multiplied by `sigma`, and the measurements."""
    predicted, episodes = [], []
    for i in range(records):
        signals = sigma * 0.6 * rng.standard_normal((samples, steps, 1))
        noise = sigma * 0.8
        predicted.append(
            Rollout(
                start=5,
                signals=signals,
                samples=signals + noise * rng.standard_normal(signals.shape),
                states=signals,
                noise_std=np.array([noise]),
                output_names=("y",),
            )
        )
        episodes.append(gpssm.Episode(y=rng.standard_normal(steps + 5), name=f"r{i}"))
    return predicted, gpssm.Episodes(episodes)


def judged(rng, sigma: float, horizon: int | None = 1) -> Score:
    predicted, episodes = rollouts(rng, sigma, steps=150, records=2)
    return score(predicted, episodes, horizon=horizon, rng=rng)


def test_exact_bands_pass_and_wrong_ones_are_flagged_by_the_verdict():
    rng = np.random.default_rng(0)
    repeats = 40
    grades = {s: [bands([judged(rng, s)], kind_of(constant())) for _ in range(repeats)] for s in (1.0, 0.8, 1.25)}
    alarms = {s: np.mean([f.grade is not Grade.good for f in found]) for s, found in grades.items()}
    # Two tests at 1 % each: more than four alarms in forty has a probability below 0.2 %.
    assert alarms[1.0] <= 0.1
    assert alarms[0.8] > 0.9
    assert alarms[1.25] > 0.9
    flagged = [f for f in grades[0.8] if f.grade is not Grade.good]
    assert all("too narrow" in f.text or "not distributed as predicted" in f.text for f in flagged)
    assert np.mean(["too narrow" in f.text for f in flagged]) > 0.9
    assert np.mean(["too wide" in f.text for f in grades[1.25]]) > 0.8
    for found in (*grades[0.8], *grades[1.25]):
        assert (found.direction is Direction.narrow) == ("too narrow" in found.text)
        assert (found.direction is Direction.wide) == ("too wide" in found.text)
    assert all(
        any("factor 1.2" in line or "factor 1.3" in line or "factor 1.1" in line for line in f.advice)
        for f in flagged
        if "too narrow" in f.text
    )


def test_few_values_of_which_many_lie_outside_are_a_warning_and_not_a_blank():
    """Seven of ten inside: with ten values chance allows that, but a page must not call such bands good."""
    rng = np.random.default_rng(4)
    score_of = judged(rng, 1.0)
    pits = np.concatenate([np.linspace(0.1, 0.9, 7), [0.001, 0.999, 0.002]])
    few = replace(score_of, pit=pits, num_effective=10.0, coverage=coverage_of(pits, 10.0))
    assert few.coverage95 == pytest.approx(0.7) and few.calibration.passed and few.coverage.passed
    found = bands([few], kind_of(constant()))
    assert found.grade is Grade.caution and "bad sign" in found.text
    fine = np.linspace(0.05, 0.95, 10)
    enough = replace(few, pit=fine, coverage=coverage_of(fine, 10.0))
    assert bands([enough], kind_of(constant())).grade is Grade.unknown


def test_scores_are_the_definitions():
    rng = np.random.default_rng(1)
    predicted, episodes = rollouts(rng, 1.0, steps=40, records=3)
    result = score(predicted, episodes, horizon=2, rng=rng)
    y = np.concatenate([e.y[5:] for e in episodes])
    median = np.concatenate([r.median for r in predicted])
    held = np.concatenate([e.y[3:-2] for e in episodes])
    assert result.rmse[0] == pytest.approx(gpssm.metrics.rmse(y, median))
    assert result.nrmse[0] == pytest.approx(gpssm.metrics.nrmse_std(y, median))
    assert result.fit_percent[0] == pytest.approx(gpssm.metrics.fit_percent(y, median))
    assert result.reference_rmse[0] == pytest.approx(gpssm.metrics.rmse(y, held))
    low, high = (np.concatenate(side) for side in zip(*(r.interval(0.95) for r in predicted), strict=True))
    share = gpssm.metrics.interval_coverage(y, low, high)
    # The rank of a measurement among 99 samples is randomised, so the two may differ by ties at the edge.
    assert result.coverage.observed[-1] == pytest.approx(share, abs=0.03)
    assert len(result.pit) == 120


def test_the_range_of_coverage_holds_with_the_stated_probability():
    rng = np.random.default_rng(2)
    inside = [judged(rng, 1.0).coverage.passed for _ in range(60)]
    assert np.mean(inside) >= CONFIDENCE - 4 * np.sqrt(0.01 * 0.99 / 60)


def test_predictions_that_are_not_finite_are_counted_not_scored():
    rng = np.random.default_rng(3)
    predicted, episodes = rollouts(rng, 1.0, steps=40, records=1)
    predicted[0].signals[3, 10:12] = np.inf
    predicted[0].samples[3, 10:12] = np.inf
    result = score(predicted, episodes, horizon=None, rng=rng)
    assert result.broken == 2
    assert np.isfinite(result.rmse).all()
    assert len(result.pit) == 38
    assert np.isfinite(result.log_density), "the other trajectories still have a density there"
    assert result.poor
    predicted[0].signals[:, 10] = np.nan
    assert score(predicted, episodes, horizon=None, rng=rng).log_density == -np.inf


def test_an_output_that_never_changes_has_a_density_but_no_relative_error():
    rng = np.random.default_rng(10)
    signals = 0.1 * rng.standard_normal((99, 30, 1))
    noisy = signals + 0.3 * rng.standard_normal(signals.shape)
    predicted = [Rollout(5, signals, noisy, signals, np.array([0.3]), ("y",))]
    still = gpssm.Episodes([gpssm.Episode(y=np.zeros(35))])
    result = score(predicted, still, horizon=None, rng=rng)
    assert result.log_density == pytest.approx(-0.5 * np.log(2 * np.pi * 0.1), abs=0.1)
    assert np.isnan(result.fit_overall) and np.isnan(result.crps)
    assert result.rmse_overall < 0.05


def test_whiteness_alarm_rate_is_one_percent_within_a_fifth_over_several_records():
    """Ten thousand white series, each in three records: the gaps between records must not count as data."""
    rng = np.random.default_rng(4)
    parts = [rng.standard_normal((steps, 10_000)) for steps in (120, 60, 120)]
    result = _whiteness(parts, 25)
    assert result is not None
    assert abs(np.mean(result.channel_p_values < 0.01) - 0.01) <= 0.002


def test_records_are_not_correlated_across_their_borders():
    """White records on different levels of noise: joined naively, the last steps of one meet the first of the next."""
    rng = np.random.default_rng(5)
    series = rng.standard_normal(60)
    first, second = series[:30, None], series[30:, None]
    joined, parted = _whiteness([series[:, None]], 5), _whiteness([first, second], 5)
    assert joined is not None and parted is not None
    centred = series - series.mean()
    expected = (centred[:29] @ centred[1:30] + centred[30:59] @ centred[31:]) / (centred @ centred)
    assert parted.autocorrelation[0, 0] == pytest.approx(expected)
    assert parted.autocorrelation[0, 0] != pytest.approx(joined.autocorrelation[0, 0])


def test_input_test_alarm_rate_over_several_records():
    rng = np.random.default_rng(6)
    repeats = 3000
    inputs = [np.cumsum(rng.standard_normal((80, 1)), axis=0) for _ in range(3)]
    result = _independence([rng.standard_normal((80, repeats)) for _ in inputs], inputs, 10, False)
    assert result is not None
    assert abs(np.mean(result.channel_p_values < 0.01) - 0.01) < 4 * np.sqrt(0.01 * 0.99 / repeats)


def test_short_or_constant_records_are_not_tested():
    rng = np.random.default_rng(7)
    predicted, episodes = rollouts(rng, 1.0, steps=6, records=2)
    tests = residual_tests(predicted, episodes)
    assert tests.whiteness is None
    assert tests.independence is None


def test_directions_add_up():
    narrow, wide, none = Direction.narrow, Direction.wide, Direction.none
    assert Direction.of([narrow, none]) is narrow
    assert Direction.of([wide, wide]) is wide
    assert Direction.of([narrow, wide]) is Direction.both
    assert Direction.of([]) is none


def test_equal_models_are_told_apart_at_the_stated_rate_only():
    rng = np.random.default_rng(9)
    p_values = []
    for _ in range(400):
        a, b = rng.standard_normal((2, 300)) ** 2
        p_values.append(difference_p_value([a[:150], a[150:]], [b[:150], b[150:]]))
    assert np.mean(np.array(p_values) < 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)
    better = difference_p_value([rng.standard_normal(300) ** 2], [0.3 * rng.standard_normal(300) ** 2])
    assert better is not None and better < 0.001
    assert difference_p_value([np.ones(10)], [np.ones(10)]) is None
