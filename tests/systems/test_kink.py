"""The two kink maps: the function itself, the noise and the range that is covered."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from gpssm.systems import Kink, SmoothKink


def kink(x):
    return x + 1 if x < 4 else 13 - 2 * x


def smooth_kink(x):
    return 0.8 + (x + 0.2) * (1 - 5 / (1 + np.exp(-2 * x)))


@pytest.mark.parametrize(("system", "reference"), [(Kink(), kink), (SmoothKink(), smooth_kink)], ids=["kink", "smooth"])
def test_function_is_the_definition(system, reference):
    grid = np.linspace(-4.0, 8.0, 97)
    np.testing.assert_allclose(system.function(jnp.asarray(grid)), [reference(x) for x in grid], atol=1e-12)


def test_kink_is_continuous_with_slopes_one_and_minus_two():
    points = np.asarray(Kink().function(jnp.array([3.0, 4.0 - 1e-9, 4.0, 5.0])))
    np.testing.assert_allclose(points, [4.0, 5.0, 5.0, 3.0], atol=1e-8)


@pytest.mark.parametrize(("system", "reference"), [(Kink(), kink), (SmoothKink(), smooth_kink)], ids=["kink", "smooth"])
def test_noise_variances_are_recovered(system, reference):
    simulated = system.simulate(episodes=500, steps=20, key=jr.key(0))
    states = np.stack(simulated.states)[..., 0]
    outputs = np.stack([episode.y[:, 0] for episode in simulated.episodes])
    process = states[:, 1:] - np.vectorize(reference)(states[:, :-1])
    for residual, variance in ((process, system.process_variance), (outputs - states, system.observation_variance)):
        assert abs(residual.mean()) < 4 * np.sqrt(variance / residual.size)
        assert abs((residual**2).mean() - variance) < 4 * variance * np.sqrt(2 / residual.size)


def test_kink_defaults_cover_both_branches():
    simulated = Kink().simulate(key=jr.key(1))
    assert len(simulated.episodes) == 200
    assert all(episode.y.shape == (10, 1) and episode.num_inputs == 0 for episode in simulated.episodes)
    states = np.concatenate(simulated.states)[:, 0]
    counts, _ = np.histogram(states, bins=np.arange(-1.5, 5.01, 0.5))
    assert counts.min() >= 5
    assert -4.5 < states.min() < -1.0 and 5.0 < states.max() < 6.0


def test_smooth_kink_starts_at_one_half():
    simulated = SmoothKink().simulate(episodes=4, steps=5, key=jr.key(2))
    assert {states[0, 0] for states in simulated.states} == {0.5}
    assert len({states[1, 0] for states in simulated.states}) == 4


def test_same_key_same_draw():
    first, again = (Kink().simulate(episodes=3, key=jr.key(8)) for _ in range(2))
    other = Kink().simulate(episodes=3, key=jr.key(9))
    for i in range(3):
        np.testing.assert_array_equal(first.episodes[i].y, again.episodes[i].y)
        assert (first.episodes[i].y != other.episodes[i].y).all()


@pytest.mark.parametrize("sizes", [{"episodes": 0}, {"steps": 0}])
def test_empty_simulations_are_refused(sizes):
    with pytest.raises(ValueError, match="at least 1"):
        Kink().simulate(**sizes, key=jr.key(0))
