"""The system that made the data, as a predictor."""

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.baselines import TrueSimulator
from gpssm.predict import MeanOnly
from gpssm.systems import Pendulum, SmoothKink, trajectory


def test_it_starts_from_the_last_sample_it_may_read():
    system = Pendulum()
    episode = system.simulate(episodes=1, steps=8, observed=(0, 1), key=jr.key(0)).episodes[0]
    model = TrueSimulator.of(system, (0, 1), episode)
    run = model.simulate(episode, n_init=3, propagation=MeanOnly(), seed=0)
    np.testing.assert_allclose(run.mean, trajectory(system, episode.y[2], episode.u[2:])[1:], rtol=1e-12)
    spread = model.simulate(episode, n_init=3, num_samples=5, seed=0)
    assert spread.signals.shape == (5, 5, 2) and np.all(spread.signals.std(axis=0) > 0.0)
    assert spread.output_names == episode.output_names and spread.dt == episode.dt


def test_states_that_are_measured_in_another_order_are_told_apart():
    system = Pendulum()
    usual, swapped = (
        system.simulate(episodes=1, steps=8, observed=observed, key=jr.key(0)).episodes[0]
        for observed in ((0, 1), (1, 0))
    )
    runs = [
        TrueSimulator.of(system, observed, episode).simulate(episode, n_init=3, propagation=MeanOnly(), seed=0)
        for observed, episode in (((0, 1), usual), ((1, 0), swapped))
    ]
    np.testing.assert_allclose(runs[1].mean, runs[0].mean[:, ::-1], rtol=1e-12)


def test_hidden_states_must_be_given():
    system = Pendulum()
    episode = system.simulate(episodes=1, steps=6, observed=(1,), key=jr.key(0)).episodes[0]
    model = TrueSimulator.of(system, (1,), episode)
    with pytest.raises(gpssm.DataError, match="from_state"):
        model.simulate(episode, n_init=1, seed=0)
    start = np.array([0.1, 0.2])
    run = model.from_state(start).simulate(episode, n_init=1, propagation=MeanOnly(), seed=0)
    np.testing.assert_allclose(run.mean[:, 0], trajectory(system, start, episode.u)[1:, 1], rtol=1e-12)
    with pytest.raises(gpssm.DataError, match=r"\(3,\).*2 states"):
        model.from_state([0.0, 0.0, 0.0]).simulate(episode, n_init=1, seed=0)


def test_a_start_that_was_not_measured_is_refused():
    model = TrueSimulator.of(SmoothKink(), (0,), gpssm.Episode(y=[0.5, 0.5, 0.5]))
    with pytest.raises(gpssm.DataError, match=r"last output of .* is missing"):
        model.simulate(gpssm.Episode(y=[0.5, np.nan, 0.5]), n_init=2, seed=0)


def test_a_map_is_iterated_with_its_process_noise():
    system = SmoothKink()
    episode = gpssm.Episode(y=np.full(3, 0.5))
    run = TrueSimulator.of(system, (0,), episode).simulate(episode, n_init=2, num_samples=400, seed=0)

    def function(x: float) -> float:
        return 0.8 + (x + 0.2) * (1.0 - 5.0 / (1.0 + np.exp(-2.0 * x)))

    slope = (function(0.5 + 1e-5) - function(0.5 - 1e-5)) / 2e-5
    expected = np.sqrt(slope**2 * system.observation_variance + system.process_variance)
    assert abs(run.signals.std() / expected - 1.0) < 4.0 / np.sqrt(2.0 * 400)
    assert abs(run.signals.mean() - function(0.5)) < 0.05
