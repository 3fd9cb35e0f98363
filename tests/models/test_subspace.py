"""First guesses: latent trajectories and inducing inputs."""

import warnings

import jax.random as jr
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gpssm
from gpssm._core._params import val
from gpssm.models import GPSSM
from gpssm.models._inducing_inputs import place_inducing_inputs
from gpssm.models._subspace import RIDGE, _ridge, interpolated, principal_directions, subspace_states


def _oscillator(steps: int, *, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, speed and force of a damped oscillator; the speed is not measured."""
    rng = np.random.default_rng(seed)
    force, state = rng.standard_normal((steps, 1)), rng.standard_normal(2)
    states = np.zeros((steps, 2))
    for t in range(steps):
        states[t] = state
        state = np.array([[0.95, 0.25], [-0.25, 0.9]]) @ state + np.array([0.0, 0.3]) * force[t]
    return states[:, :1] + 0.01 * rng.standard_normal((steps, 1)), states[:, 1], force


def _scaled(episodes: gpssm.Episodes) -> gpssm.Episodes:
    return gpssm.Scaler.from_episodes(episodes).apply(episodes)


def _random_episodes(lengths: tuple[int, ...], outputs: int, inputs: int) -> gpssm.Episodes:
    rng = np.random.default_rng(0)
    return gpssm.Episodes.from_arrays(
        y=[rng.standard_normal((n, outputs)) for n in lengths], u=[rng.standard_normal((n, inputs)) for n in lengths]
    )


def test_outputs_are_the_first_states():
    episodes = _scaled(_random_episodes((15, 9), 2, 1))
    for states in (2, 4):
        for guess, episode in zip(subspace_states(episodes, states), episodes, strict=True):
            assert guess.shape == (len(episode), states)
            assert np.array_equal(guess[:, :2], episode.y)


def test_the_hidden_state_of_an_oscillator_is_its_speed():
    """Position and speed together determine the state; the guess must carry speed beyond what the position tells."""
    records = [_oscillator(80, seed=i) for i in range(3)]
    episodes = _scaled(gpssm.Episodes.from_arrays(y=[y for y, _, _ in records], u=[u for _, _, u in records]))
    guess = np.concatenate(subspace_states(episodes, 2))
    speed = np.concatenate([v for _, v, _ in records])
    design = np.column_stack([guess, np.ones(len(guess))])
    explained = design @ np.linalg.lstsq(design, speed, rcond=None)[0]
    assert np.corrcoef(explained, speed)[0, 1] ** 2 > 0.9
    position = np.column_stack([guess[:, :1], np.ones(len(guess))])
    alone = position @ np.linalg.lstsq(position, speed, rcond=None)[0]
    assert np.corrcoef(alone, speed)[0, 1] ** 2 < 0.5, "the position alone does not tell it"


def test_hidden_states_have_unit_variance():
    episodes = _scaled(_random_episodes((30, 25), 1, 1))
    hidden = np.concatenate(subspace_states(episodes, 3))[:, 1:]
    np.testing.assert_allclose(hidden.std(axis=0), 1.0, rtol=1e-6)


def test_fewer_states_than_outputs_are_principal_components():
    rng = np.random.default_rng(1)
    latent = rng.standard_normal((60, 1))
    y = latent @ np.array([[1.0, -2.0, 0.5]]) + 0.01 * rng.standard_normal((60, 3))
    episodes = _scaled(gpssm.Episodes.from_arrays(y=[y[:40], y[40:]]))
    guess = np.concatenate(subspace_states(episodes, 1))
    assert guess.shape == (60, 1)
    assert abs(np.corrcoef(guess[:, 0], latent[:, 0])[0, 1]) > 0.99
    np.testing.assert_allclose(guess.std(), 1.0, rtol=0.05)


def test_principal_directions_reconstruct():
    """Of data with two independent directions, two components hold everything."""
    rng = np.random.default_rng(2)
    mixing = rng.standard_normal((2, 4))
    outputs = [rng.standard_normal((20, 2)) @ mixing for _ in range(2)]
    directions = principal_directions(outputs, 2)
    for y in outputs:
        np.testing.assert_allclose(y @ directions @ np.linalg.pinv(directions), y, atol=1e-10)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_the_first_emission_reads_the_guessed_states(missing):
    """Fewer states than outputs: emission and guess must mean the same components, also where outputs are missing."""
    rng = np.random.default_rng(3)
    walk = np.cumsum(rng.standard_normal((80, 1)), axis=0)
    y = walk @ np.array([[1.0, -2.0]]) + 0.05 * rng.standard_normal((80, 2))
    y[rng.uniform(size=y.shape) < missing] = np.nan
    episodes = gpssm.Episodes.from_arrays(y=y + 30.0)
    scaled = _scaled(episodes)
    model = GPSSM.from_data(episodes, state_dim=1, num_inducing=4, key=jr.key(0))
    (guess,) = subspace_states(scaled, 1)
    read = guess @ np.asarray(val(model.emission.weight)).T + np.asarray(val(model.emission.offset))
    error = (read - scaled[0].y)[scaled[0].observed]
    assert np.sqrt(np.mean(error**2)) < 0.15


def test_gaps_are_filled_by_straight_lines():
    y = np.array([[np.nan, 1.0], [2.0, np.nan], [np.nan, np.nan], [4.0, np.nan], [np.nan, np.nan]])
    filled = interpolated(gpssm.Episode(y=y))
    np.testing.assert_allclose(filled[:, 0], [2.0, 2.0, 3.0, 4.0, 4.0])
    np.testing.assert_allclose(filled[:, 1], 1.0)
    empty = interpolated(gpssm.Episode(y=np.array([[np.nan, 1.0]] * 3)))
    np.testing.assert_allclose(empty[:, 0], 0.0)


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=3),
    outputs=st.integers(1, 3),
    inputs=st.integers(0, 2),
    states=st.integers(1, 5),
    constant=st.booleans(),
)
@example(lengths=[1], outputs=1, inputs=0, states=3, constant=False)
@example(lengths=[1], outputs=3, inputs=0, states=2, constant=False)
@example(lengths=[2, 9], outputs=1, inputs=1, states=2, constant=False)
@example(lengths=[7, 7], outputs=2, inputs=0, states=4, constant=True)
def test_any_episodes_give_finite_guesses(lengths, outputs, inputs, states, constant):
    episodes = _random_episodes(tuple(lengths), outputs, inputs)
    if constant:
        episodes = gpssm.Episodes.from_arrays(y=[np.ones((n, outputs)) for n in lengths])
    guesses = subspace_states(_scaled(episodes), states)
    for guess, length in zip(guesses, lengths, strict=True):
        assert guess.shape == (length, states)
        assert np.isfinite(guess).all()


def test_guesses_are_reproducible():
    episodes = _scaled(_random_episodes((30, 25), 1, 1))
    for a, b in zip(subspace_states(episodes, 3), subspace_states(episodes, 3), strict=True):
        assert np.array_equal(a, b)


@settings(max_examples=30, deadline=None)
@given(
    points=st.integers(1, 40),
    distinct=st.integers(1, 40),
    dims=st.integers(1, 3),
    count=st.integers(1, 15),
)
def test_inducing_inputs_are_as_many_as_asked_and_near_the_data(points, distinct, dims, count):
    rng = np.random.default_rng(0)
    data = rng.standard_normal((distinct, dims))[rng.integers(distinct, size=points)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = place_inducing_inputs(data, count, seed=1)
    assert chosen.shape == (count, dims)
    assert np.isfinite(chosen).all()
    assert np.all(chosen >= data.min(axis=0) - 0.5)
    assert np.all(chosen <= data.max(axis=0) + 0.5)


def test_inducing_inputs_follow_the_seed():
    data = np.random.default_rng(0).standard_normal((100, 2))
    assert np.array_equal(place_inducing_inputs(data, 10, seed=1), place_inducing_inputs(data, 10, seed=1))
    assert not np.array_equal(place_inducing_inputs(data, 10, seed=1), place_inducing_inputs(data, 10, seed=2))


def test_inducing_inputs_cover_the_data():
    """The farthest point is closer to a centre than with as many points picked at random."""
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.standard_normal((500, 2)) * 0.1, rng.uniform(-5.0, 5.0, (60, 2))])

    def reach(centres: np.ndarray) -> float:
        return float(np.max(np.min(np.linalg.norm(data[:, None] - centres[None], axis=-1), axis=1)))

    random = np.mean([reach(data[rng.choice(len(data), 20, replace=False)]) for _ in range(20)])
    assert reach(place_inducing_inputs(data, 20, seed=0)) < 0.7 * random


def test_one_dimension_gets_an_even_grid():
    grid = place_inducing_inputs(np.array([[3.0], [-1.0], [0.0]]), 5, seed=0)
    np.testing.assert_allclose(grid[:, 0], [-1.0, 0.0, 1.0, 2.0, 3.0])


def test_the_ridge_is_relative_to_the_number_of_rows():
    """The same rows three times over say the same."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((20, 3)), rng.standard_normal((20, 2))
    once, thrice = (_ridge(np.tile(x, (n, 1)), np.tile(y, (n, 1))) for n in (1, 3))
    np.testing.assert_allclose(once, thrice, rtol=1e-12)
    expected = np.linalg.solve(x.T @ x / 20 + RIDGE * np.eye(3), x.T @ y / 20)
    np.testing.assert_allclose(once, expected, rtol=1e-12)
