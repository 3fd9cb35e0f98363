"""Predictions of a system that was learnt from data."""

import jax
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

import gpssm
from gpssm.filters import EKF
from gpssm.models import Batch
from tests.reference.compiling import jit
from tests.reference.small_system import records, train

N_INIT = 5
SAMPLES = 64


def _simulate(system: gpssm.System, episode: gpssm.Episode, **options) -> gpssm.Rollout:
    return system.simulate(episode, n_init=N_INIT, num_samples=SAMPLES, key=jr.key(0), **options)


def _with_outputs(episode: gpssm.Episode, y: np.ndarray) -> gpssm.Episode:
    names = {"output_names": episode.output_names, "input_names": episode.input_names}
    return gpssm.Episode(y=y, u=episode.u, dt=episode.dt, name=episode.name, **names)


def _corrupted(episode: gpssm.Episode) -> gpssm.Episode:
    """All outputs from n_init on are noise or missing."""
    y = np.array(episode.y)
    y[N_INIT:] = 1e3 * np.random.default_rng(0).standard_normal(y[N_INIT:].shape)
    y[N_INIT + 3 :: 4] = np.nan
    return _with_outputs(episode, y)


@pytest.fixture(scope="module")
def rollout(small, unseen) -> gpssm.Rollout:
    return _simulate(small, unseen)


def test_free_run_has_learnt_something(rollout, unseen):
    error = np.sqrt(np.mean((rollout.mean - unseen.y[N_INIT:]) ** 2))
    assert error < 0.5 * unseen.y[N_INIT:].std()


@pytest.mark.parametrize("read", [lambda s: None, lambda s: EKF(), lambda s: s.recognition], ids=["UKF", "EKF", "net"])
def test_a_free_run_does_not_see_later_outputs(small, unseen, read):
    reader = read(small)
    honest, blind = _simulate(small, unseen, reader=reader), _simulate(small, _corrupted(unseen), reader=reader)
    for name in ("signals", "samples", "states"):
        assert np.array_equal(getattr(honest, name), getattr(blind, name))


def test_a_free_run_does_see_the_first_outputs(small, unseen, rollout):
    y = np.array(unseen.y)
    y[N_INIT - 1] += 1.0
    assert not np.allclose(_simulate(small, _with_outputs(unseen, y)).signals[:, 0], rollout.signals[:, 0])


def test_the_last_input_of_a_record_has_no_effect(small, unseen, rollout):
    u = np.array(unseen.u)
    u[-1] += 1.0
    other = gpssm.Episode(y=unseen.y, u=u, dt=unseen.dt, output_names=["level"], input_names=["valve"])
    assert np.array_equal(_simulate(small, other).samples, rollout.samples)
    u[-2] += 1.0
    other = gpssm.Episode(y=unseen.y, u=u, dt=unseen.dt, output_names=["level"], input_names=["valve"])
    changed = _simulate(small, other).samples != rollout.samples
    assert changed[:, -1].all()
    assert not changed[:, :-1].any()


def test_a_forecast_goes_on_where_the_record_ends(small, unseen, rollout):
    """Bit-equal to the free run that saw the same samples under the same inputs."""
    forecast = small.forecast(unseen.head(N_INIT), inputs=unseen.u[N_INIT:], num_samples=SAMPLES, key=jr.key(0))
    assert forecast.start == N_INIT
    assert np.array_equal(forecast.samples, rollout.samples)
    assert np.array_equal(forecast.time, rollout.time)


def test_a_forecast_takes_a_plain_list_of_inputs(small, unseen, rollout):
    inputs = unseen.u[N_INIT:, 0].tolist()
    forecast = small.forecast(unseen.head(N_INIT), inputs=inputs, num_samples=SAMPLES, key=jr.key(0))
    assert np.array_equal(forecast.samples, rollout.samples)


def test_one_step_prediction_agrees_with_the_filter(small, unseen):
    """The mean one step ahead is the transition at the filtered state, up to its curvature and sampling error."""
    filtered = small.filter(unseen)
    predicted = small.predict(unseen, horizon=1, num_samples=SAMPLES, key=jr.key(1))
    moments = jit(lambda transition, x, u: transition.condition().function_moments(x, u))
    means, _ = moments(small.model.transition, filtered.means[:-1], small.scaler.apply_inputs(unseen.u)[:-1])
    expected = small.scaler.undo_mean(np.asarray(means))
    error = predicted.signals.std(axis=0) / SAMPLES**0.5
    assert predicted.start == 1
    assert np.all(np.abs(predicted.mean - expected) < 5.0 * error + 0.02)
    assert np.mean((predicted.mean - unseen.y[1:]) ** 2) < 0.2 * np.var(unseen.y)


def test_a_network_may_not_read_what_it_is_to_predict(small, unseen):
    with pytest.raises(gpssm.DataError, match="would see what is to be predicted: use a filter"):
        small.predict(unseen, horizon=2, reader=small.recognition, key=jr.key(0))


def test_smoothing_does_not_depend_on_padding_or_company(small):
    episodes = records()
    padded = Batch.of(small.scaler.apply(episodes), length=37)
    batch = jit(lambda data: jax.vmap(lambda e: small.recognition.posterior(e).marginals())(data))(padded)
    for i, episode in enumerate(episodes):
        states = small.smooth(episode, reader=small.recognition)
        assert_allclose(states.means, batch[0][i, : len(episode)], atol=1e-10)
        assert_allclose(states.chols, batch[1][i, : len(episode)], atol=1e-10)


def test_a_record_without_any_output_can_be_smoothed_and_filtered(small, unseen):
    blind = gpssm.Episode(y=np.full((30, 1), np.nan), u=unseen.u, dt=0.5, output_names=["level"], input_names=["valve"])
    assert np.isfinite(small.smooth(blind).means).all()
    assert np.isfinite(small.smooth(blind, reader=small.recognition).means).all()
    states = small.filter(blind)
    assert np.isfinite(states.means).all()
    assert states.log_evidence == pytest.approx(0.0, abs=1e-12), "no output, no evidence"
    assert states.std[-1, 0] > 1.5 * small.filter(unseen).std[-1, 0]


def test_predictions_follow_the_units_of_the_data(small, unseen, rollout):
    """The same data in other units, fitted with the same key, give the same predictions in these units."""

    def in_other_units(episode: gpssm.Episode) -> gpssm.Episode:
        return gpssm.Episode(
            y=10.0 * episode.y + 100.0,
            u=0.5 * episode.u + 7.0,
            dt=episode.dt,
            output_names=["level"],
            input_names=["valve"],
        )

    shifted = train(gpssm.Episodes([in_other_units(episode) for episode in records()]))
    other = _simulate(shifted, in_other_units(unseen))
    # Not to rounding: standardised data differ in the last digits, and training amplifies that.
    assert_allclose(other.mean, 10.0 * rollout.mean + 100.0, atol=1e-3)
    assert_allclose(other.std, 10.0 * rollout.std, rtol=1e-3)
    assert_allclose(other.noise_std, 10.0 * rollout.noise_std, rtol=1e-3)
