"""Filters and smoother on a linear-Gaussian model, where the Kalman filter in plain NumPy is the truth."""

from types import SimpleNamespace

import jax
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

import gpssm
from gpssm.filters import EKF, UKF, ParticleFilter
from gpssm.predict import States
from tests.reference.compiling import jit
from tests.reference.filtering import kalman_filter, rts_smoother
from tests.reference.kalman import evidence

GAUSSIAN = [EKF(), UKF()]


def _covariances(states: States) -> np.ndarray:
    return states.chols @ np.swapaxes(states.chols, 1, 2)


@pytest.mark.parametrize("reader", GAUSSIAN, ids=lambda e: type(e).__name__)
def test_gaussian_filters_are_the_kalman_filter(linear, reader):
    expected = kalman_filter(linear.reference, linear.y, linear.u, linear.observed)
    states = linear.system.filter(linear.episode, reader=reader)
    assert_allclose(states.means, expected.means, atol=1e-9)
    assert_allclose(_covariances(states), expected.covariances, atol=1e-9)
    assert states.log_evidence == pytest.approx(expected.evidence, abs=1e-7)


def test_the_reference_agrees_with_a_second_one(linear):
    filtered = kalman_filter(linear.reference, linear.y, linear.u, linear.observed)
    assert filtered.evidence == pytest.approx(evidence(linear.reference, linear.y, linear.u, linear.observed), abs=1e-9)


def test_outputs_of_filtered_states_are_in_user_units(linear):
    expected = kalman_filter(linear.reference, linear.y, linear.u, linear.observed)
    states = linear.system.filter(linear.episode)
    model, scaler = linear.reference, linear.system.scaler
    outputs = expected.means @ model.W.T + model.b
    spread = np.sqrt(np.einsum("oi,tij,oj->to", model.W, expected.covariances, model.W))
    assert_allclose(states.outputs, outputs * scaler.output_scale + scaler.output_mean, atol=1e-7)
    assert_allclose(states.output_std, spread * scaler.output_scale, atol=1e-7)
    assert_allclose(states.std, np.sqrt(np.diagonal(expected.covariances, axis1=1, axis2=2)), atol=1e-9)


def test_smoother_is_rauch_tung_striebel(linear):
    filtered = kalman_filter(linear.reference, linear.y, linear.u, linear.observed)
    means, covariances = rts_smoother(linear.reference, filtered)
    states = linear.system.smooth(linear.episode)
    assert_allclose(states.means, means, atol=1e-9)
    assert_allclose(_covariances(states), covariances, atol=1e-9)
    assert states.log_evidence == pytest.approx(filtered.evidence, abs=1e-7)


def test_particle_filter_agrees_within_monte_carlo_error(linear):
    expected = kalman_filter(linear.reference, linear.y, linear.u, linear.observed)
    reader = ParticleFilter(2000)
    runs = [linear.system.filter(linear.episode, reader=reader, key=jr.key(i)) for i in range(12)]
    means = np.stack([run.means for run in runs])
    error = means.std(axis=0, ddof=1) / np.sqrt(len(runs))
    # Twelve runs estimate a standard error to about 20 %; 50 numbers are compared.
    assert np.all(np.abs(means.mean(axis=0) - expected.means) < 6.0 * error + 2e-3)
    spread = np.mean([_covariances(run) for run in runs], axis=0)
    assert_allclose(spread, expected.covariances, rtol=0.15, atol=5e-3)
    evidences = np.array([run.log_evidence for run in runs])
    # The particle estimate of the evidence is unbiased; its logarithm is low by half its variance.
    bias = 0.5 * evidences.var(ddof=1)
    assert abs(evidences.mean() + bias - expected.evidence) < 6.0 * evidences.std(ddof=1) / np.sqrt(len(runs))
    assert evidences.std() > 0.0, "different keys must give different runs"


def test_moments_of_particles_are_weighted_and_have_a_factor_even_where_all_are_one():
    rng = np.random.default_rng(0)
    logs, particles = rng.standard_normal(50), rng.standard_normal((50, 2)) @ np.array([[1.0, 0.6], [0.0, 0.3]])
    moments = jit(
        lambda logs, particles: ParticleFilter().moments(SimpleNamespace(log_weights=logs, particles=particles))
    )
    mean, chol = map(np.asarray, moments(logs, particles))
    weights = np.exp(logs) / np.exp(logs).sum()
    assert_allclose(mean, weights @ particles, atol=1e-12)
    assert_allclose(chol @ chol.T, np.cov(particles.T, aweights=weights, ddof=0), atol=1e-8)
    same = np.asarray(moments(logs, np.tile(particles[:1], (50, 1)))[1])
    assert np.isfinite(same).all() and np.abs(same).max() < 1e-3


@pytest.mark.parametrize("reader", GAUSSIAN, ids=lambda e: type(e).__name__)
def test_online_filter_is_the_batch_filter(linear, reader):
    batch = linear.system.filter(linear.episode, reader=reader)
    online = linear.system.online(reader=reader)
    outputs = linear.episode.y_with_nan
    for t in range(len(linear.episode)):
        mean, covariance = online.update(outputs[t], linear.episode.u[t])
        assert_allclose(mean, batch.means[t], atol=1e-9)
        assert_allclose(covariance, batch.chols[t] @ batch.chols[t].T, atol=1e-9)


@pytest.mark.parametrize("reader", [*GAUSSIAN, ParticleFilter(20)], ids=lambda e: type(e).__name__)
def test_an_update_compiles_nothing_whatever_the_callers_precision(linear, reader):
    online, compiled = linear.system.online(reader=reader), []
    wanted = linear.system.online(reader=reader)
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiled.append(event) if event.endswith("backend_compile_duration") else None
    )
    for y, u in zip(linear.episode.y_with_nan[:4], linear.episode.u, strict=False):
        with jax.enable_x64(False):
            found = online.update(y, u)
        for one, other in zip(found, wanted.update(y, u), strict=True):
            assert np.array_equal(one, other)
    assert not compiled


def test_what_an_update_returns_belongs_to_the_caller(linear):
    online, fresh = linear.system.online(), linear.system.online()
    first, second = linear.episode.y_with_nan[:2]
    kept = online.update(first, [0.0])
    before = kept[0].copy()
    kept[1][:] = np.nan
    fresh.update(first, [0.0])
    assert np.array_equal(online.update(second, [0.0])[1], fresh.update(second, [0.0])[1])
    assert np.array_equal(kept[0], before), "not written over by the next update"


@pytest.mark.slow
def test_online_particle_filter_follows_the_kalman_filter(linear):
    expected = kalman_filter(linear.reference, linear.y, linear.u, linear.observed)
    online = linear.system.online(reader=ParticleFilter(2000), key=jr.key(5))
    outputs = linear.episode.y_with_nan
    for t in range(len(linear.episode)):
        mean, covariance = online.update(outputs[t], linear.episode.u[t])
        spread = np.sqrt(np.diagonal(expected.covariances[t]))
        assert np.all(np.abs(mean - expected.means[t]) < 0.3 * spread)
        assert_allclose(covariance, expected.covariances[t], rtol=0.4, atol=0.01)


def test_filter_ignores_what_stands_behind_a_missing_output(linear):
    noise = np.where(linear.observed, linear.episode.y, 1e3)
    other = gpssm.Episode(
        y=noise,
        u=linear.episode.u,
        mask=linear.observed,
        dt=0.1,
        output_names=["height", "speed"],
        input_names=["force"],
    )
    assert np.array_equal(linear.system.filter(other).means, linear.system.filter(linear.episode).means)
