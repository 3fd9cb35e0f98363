"""The rows that need no learning."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.baselines import Constant, PreviousEpisode, TrueSimulator
from gpssm.predict import MeanOnly
from gpssm.systems import Pendulum, SmoothKink, trajectory


def test_constant_predicts_mean_and_spread_of_what_was_observed():
    y = np.array([1.0, np.nan, 3.0, 5.0])
    model = Constant.fit(gpssm.Episodes.from_arrays(y=y))
    run = model.simulate(gpssm.Episode(y=np.zeros(6)), n_init=2, num_samples=4000, key=jr.key(0))
    assert run.start == 2 and len(run) == 4
    np.testing.assert_allclose(run.mean, 3.0)
    np.testing.assert_allclose(run.std, np.nanstd(y))
    assert abs(run.samples.std() / np.nanstd(y) - 1.0) < 0.05
    assert len(model.forecast(gpssm.Episode(y=np.zeros(6)), steps=3, key=jr.key(0))) == 3


def test_previous_episode_is_copied_step_by_step():
    earlier, last = np.arange(5.0), np.arange(5.0) + 0.5
    model = PreviousEpisode.fit(gpssm.Episodes.from_arrays(y=[earlier, last]))
    run = model.simulate(gpssm.Episode(y=np.zeros(7)), n_init=1, num_samples=3, key=jr.key(0))
    np.testing.assert_array_equal(run.mean[:, 0], [1.5, 2.5, 3.5, 4.5, 4.5, 4.5])
    np.testing.assert_allclose(run.noise_std, 0.5)


def test_true_simulator_starts_from_the_last_sample_it_may_read():
    system = Pendulum()
    size = len(system.state_names)
    episode = system.simulate(episodes=1, steps=8, observed=(0, 1), key=jr.key(0)).episodes[0]
    assert episode.num_outputs == size
    model = TrueSimulator(system, tuple(range(size)))
    run = model.simulate(episode, n_init=3, propagation=MeanOnly(), key=jr.key(0))
    np.testing.assert_allclose(run.mean, trajectory(system, episode.y[2], episode.u[2:])[1:], rtol=1e-12)
    spread = model.simulate(episode, n_init=3, num_samples=5, key=jr.key(0))
    assert spread.signals.shape == (5, 5, size) and np.all(spread.signals.std(axis=0) > 0.0)


def test_hidden_states_must_be_given():
    system = Pendulum()
    episode = system.simulate(episodes=1, steps=6, observed=(1,), key=jr.key(0)).episodes[0]
    model = TrueSimulator(system, (1,))
    with pytest.raises(gpssm.DataError, match="give state="):
        model.simulate(episode, n_init=1, key=jr.key(0))
    start = np.array([0.1, 0.2])
    run = model.simulate(episode, n_init=1, state=start, propagation=MeanOnly(), key=jr.key(0))
    np.testing.assert_allclose(run.mean[:, 0], trajectory(system, start, episode.u)[1:, 1], rtol=1e-12)


def test_true_map_is_iterated_with_its_process_noise():
    system = SmoothKink()
    episode = gpssm.Episode(y=np.full(3, 0.5))
    run = TrueSimulator(system, (0,)).simulate(episode, n_init=2, num_samples=400, key=jr.key(0))
    slope = (float(system.function(jnp.asarray(0.5 + 1e-5))) - float(system.function(jnp.asarray(0.5 - 1e-5)))) / 2e-5
    expected = np.sqrt(slope**2 * system.observation_variance + system.process_variance)
    assert abs(run.signals.std() / expected - 1.0) < 0.25
