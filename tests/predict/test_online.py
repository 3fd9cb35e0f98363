"""The online filter beside its estimates: what it expects, what it refuses, where it starts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gpssm
from gpssm.filters import EKF, UKF, ParticleFilter

pytestmark = pytest.mark.system  # each filter is compiled when it is made

STEPS = 12


def fed(online, episode: gpssm.Episode, steps: int = STEPS) -> list[tuple[np.ndarray, np.ndarray]]:
    """The estimates of the first samples."""
    return [online.update(y, u) for y, u in zip(episode.y_with_nan[:steps], episode.u, strict=False)]


@pytest.mark.parametrize("reader", [EKF(), UKF()], ids=lambda r: type(r).__name__)
def test_it_expects_what_a_filter_says_that_has_not_seen_the_sample(linear, reader):
    """The record with a hole in place of the sample, filtered as a whole, is the truth."""
    online, episode = linear.system.online(reader=reader), linear.episode
    assert np.isnan(online.predicted).all() and not online.refused.any()
    noise = np.sqrt(np.asarray(linear.system.model.emission.noise_variance()))
    for t in range(STEPS):
        online.update(episode.y_with_nan[t], episode.u[t])
        hole = episode.y_with_nan.copy()
        hole[t] = np.nan
        blind = linear.system.filter(episode._replace(y=np.nan_to_num(hole), observed=~np.isnan(hole)), reader=reader)
        assert_allclose(online.predicted, blind.outputs[t], atol=1e-8)
        spread = np.hypot(blind.output_std[t], linear.system.scaler.undo_std(noise))
        assert_allclose(online.predicted_std, spread, rtol=1e-6)
        assert_allclose(online.innovation, episode.y_with_nan[t] - online.predicted, atol=1e-12)
        assert np.array_equal(np.isnan(online.innovation), ~episode.observed[t])


@pytest.mark.parametrize("reader", [EKF(), UKF(), ParticleFilter(300)], ids=lambda r: type(r).__name__)
def test_a_refused_output_is_as_good_as_a_missing_one(linear, reader):
    gated, missing = linear.system.online(reader=reader, gate=6.0), linear.system.online(reader=reader)
    for t in range(STEPS):
        y, u = linear.episode.y_with_nan[t].copy(), linear.episode.u[t]
        lost = y.copy()
        if t == 7:
            y[0], lost[0] = -1e90, np.nan
        found, wanted = gated.update(y, u), missing.update(lost, u)
        assert gated.refused.tolist() == [t == 7, False]
        for one, other in zip(found, wanted, strict=True):
            assert np.array_equal(one, other)


def test_without_a_gate_every_measurement_counts(linear):
    online = linear.system.online()
    fed(online, linear.episode)
    before = online.update([100.0, -3.0], [2.0])[0]
    after = online.update([1e6, -3.0], [2.0])[0]
    assert not online.refused.any()
    assert np.abs(after - before).max() > 100.0


def test_a_real_jump_is_believed_in_the_end(linear):
    """While outputs are refused the state becomes uncertain, so that the gate opens; else nobody would get out."""
    online = linear.system.online(gate=3.0)
    for _ in range(300):
        online.update([np.nan, np.nan], [0.0])
    level, far = online.predicted, 2.8 * online.predicted_std
    online.reset()
    for _ in range(100):
        online.update(level, [0.0])
    refused = []
    for _ in range(300):
        online.update(level + far, [0.0])
        refused.append(bool(online.refused.any()))
    assert refused[0] and not all(refused)


def test_reset_begins_anew(linear):
    online = linear.system.online()
    first = fed(online, linear.episode)
    online.reset()
    assert np.isnan(online.predicted).all()
    for found, wanted in zip(fed(online, linear.episode), first, strict=True):
        assert np.array_equal(found[0], wanted[0]) and np.array_equal(found[1], wanted[1])


@pytest.mark.parametrize("reader", [EKF(), UKF(), ParticleFilter(4000)], ids=lambda r: type(r).__name__)
def test_it_starts_at_a_given_state(linear, reader):
    """With nothing measured the first estimate is the start itself."""
    state, chol = np.array([2.0, -1.0]), np.array([[0.5, 0.0], [0.2, 0.3]])
    online = linear.system.online(reader=reader, state=state, chol=chol, seed=3)
    mean, covariance = online.update([np.nan, np.nan], [0.0])
    loose = isinstance(reader, ParticleFilter)
    assert_allclose(mean, state, atol=0.05 if loose else 1e-9)
    assert_allclose(covariance, chol @ chol.T, atol=0.03 if loose else 1e-9)
    online.reset([5.0, 5.0])
    mean, covariance = online.update([np.nan, np.nan], [0.0])
    assert_allclose(mean, [5.0, 5.0], atol=1e-9)
    assert_allclose(covariance, 0.0, atol=1e-8)
    online.reset()
    assert_allclose(online.update([np.nan, np.nan], [0.0])[0], state, atol=0.05 if loose else 1e-9)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"gate": 0.0}, "gate=0.0"),
        ({"gate": float("nan")}, "gate=nan"),
        ({"state": [1.0]}, "this model has 2 states"),
        ({"state": [1.0, 2.0], "chol": [[1.0]]}, "this model has 2 states"),
        ({"state": [np.nan, 2.0]}, "must be finite"),
    ],
)
def test_what_cannot_be_is_refused(linear, options, complaint):
    with pytest.raises(gpssm.DataError, match=complaint):
        linear.system.online(**options)


def test_it_runs_for_long_without_growing(linear):
    """Two thousand samples with gaps; `python -m tests.faults` feeds two hundred thousand."""
    online, rng = linear.system.online(gate=8.0), np.random.default_rng(0)
    for t in range(2000):
        y = rng.standard_normal(2) if t % 7 else [np.nan, np.nan]
        mean, covariance = online.update(y, rng.standard_normal(1))
        assert np.isfinite(mean).all()
        assert np.linalg.eigvalsh(covariance).min() > 0.0
