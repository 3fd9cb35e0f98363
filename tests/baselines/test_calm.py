"""Recurrences that are pulled back to the edge of stability."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpssm
from gpssm.baselines import AutoregressiveLinear
from gpssm._core._stability import stabilise, companion, spectral_radius


def _recurrence(lags: int, outputs: int, seed: int, size: float):
    return jnp.asarray(size * np.random.default_rng(seed).standard_normal((lags, outputs, outputs)))


def _radius(matrix) -> float:
    return float(np.abs(np.linalg.eigvals(np.asarray(matrix))).max())


@given(lags=st.integers(1, 4), outputs=st.integers(1, 3), seed=st.integers(0, 1000), size=st.floats(0.01, 3.0))
@settings(max_examples=40, deadline=None)
def test_the_radius_is_that_of_the_eigenvalues_and_is_bounded(lags: int, outputs: int, seed: int, size: float):
    recurrence = _recurrence(lags, outputs, seed, size)
    before = _radius(companion(recurrence))
    assert float(spectral_radius(companion(recurrence))) == pytest.approx(before, rel=5e-3)
    after = companion(stabilise(recurrence, 0.9))
    assert _radius(after) == pytest.approx(min(before, 0.9), rel=5e-3)


def test_eigenvalues_keep_their_directions():
    recurrence = _recurrence(3, 1, 3, 1.5)
    before, after = (np.sort_complex(np.linalg.eigvals(companion(r))) for r in (recurrence, stabilise(recurrence, 0.5)))
    np.testing.assert_allclose(after, before * 0.5 / np.abs(before).max(), rtol=5e-3)


def test_nothing_at_all_stays_nothing():
    assert float(spectral_radius(jnp.zeros((2, 2)))) == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_array_equal(stabilise(jnp.zeros((2, 1, 1)), 1.0), 0.0)


def _growing() -> gpssm.Episodes:
    noise = 0.01 * np.random.default_rng(0).standard_normal(40)
    y = np.ones(40)
    for t in range(39):
        y[t + 1] = 1.1 * y[t] + noise[t]
    return gpssm.Episodes([gpssm.Episode(y=y)])


def test_a_long_free_run_does_not_explode_unless_it_may():
    train = _growing()
    spread = np.abs(train[0].y).max()
    long = gpssm.Episode(y=np.concatenate([train[0].y[:10], np.zeros((600, 1))]))
    ends = {}
    for limit in (1.0, None):
        system = AutoregressiveLinear.fit(train, output_lags=1, max_radius=limit)
        run = system.simulate(long, n_init=10, num_samples=50, key=jr.key(0))
        ends[limit] = float(np.abs(run.median[-1, 0]))
    assert ends[1.0] < 1e3 * spread
    assert ends[None] > 1e6 * spread


def test_a_stable_autoregression_is_left_alone():
    y = np.zeros(200)
    noise = np.random.default_rng(1).standard_normal(200)
    for t in range(199):
        y[t + 1] = 0.5 * y[t] + noise[t]
    train = gpssm.Episodes([gpssm.Episode(y=y)])
    runs = [
        AutoregressiveLinear.fit(train, output_lags=2, max_radius=limit)
        .simulate(train[0], n_init=5, num_samples=4, key=jr.key(0))
        .samples
        for limit in (1.0, None)
    ]
    np.testing.assert_allclose(*runs, atol=1e-12)
