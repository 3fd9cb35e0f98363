"""Emissions: expectations, masks, and how they are made."""

from math import erf

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import paramax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpssm._core._params import Positive, trainable_mask, val
from gpssm.models import LinearGaussian, Magnitude
from tests.reference.compiling import jit
from tests.reference.gaussian import log_density
from tests.reference.montecarlo import assert_covariance, assert_mean

T, D, OUTPUTS = 4, 3, 2
seeds = st.integers(0, 2**31)


@jit
def expected(
    emission: LinearGaussian | Magnitude, y: jax.Array, means: jax.Array, covariances: jax.Array, where: jax.Array
):
    def value(e: LinearGaussian | Magnitude) -> jax.Array:
        return e.expected_log_prob(y, means, covariances, where=where)

    return eqx.filter_value_and_grad(value)(emission)


def problem(seed: int) -> tuple[LinearGaussian, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    emission = LinearGaussian(
        jnp.asarray(rng.standard_normal((OUTPUTS, D))),
        jnp.asarray(rng.standard_normal(OUTPUTS)),
        Positive.of(np.exp(rng.standard_normal(OUTPUTS))),
    )
    roots = 0.5 * rng.standard_normal((T, D, D))
    covariances = roots @ roots.transpose(0, 2, 1)
    where = rng.random((T, OUTPUTS)) < 0.7
    return emission, rng.standard_normal((T, OUTPUTS)), rng.standard_normal((T, D)), covariances, where


def log_prob(emission: LinearGaussian, y: np.ndarray, states: np.ndarray, where: np.ndarray) -> np.ndarray:
    """log p(y | x) of the observed entries, for a stack of trajectories."""
    means = states @ np.asarray(emission.weight).T + np.asarray(emission.offset)
    noise = np.asarray(val(emission.noise))
    return np.sum(np.where(where, -0.5 * (np.log(2 * np.pi * noise) + (y - means) ** 2 / noise), 0.0), axis=(1, 2))


def test_expectation_is_the_mean_log_density_of_states():
    emission, y, means, covariances, where = problem(0)
    noise = np.random.default_rng(1).standard_normal((6_000, T, D))
    states = means + np.einsum("tij,ktj->kti", np.linalg.cholesky(covariances), noise)
    assert_mean(log_prob(emission, y, states, where), expected(emission, y, means, covariances, where)[0])


@settings(deadline=None, max_examples=20)
@given(seeds)
def test_without_uncertainty_it_is_the_dense_log_density(seed):
    emission, y, means, covariances, where = problem(seed)
    predicted = means @ np.asarray(emission.weight).T + np.asarray(emission.offset)
    noise = np.tile(np.asarray(val(emission.noise)), T)[where.ravel()]
    dense = log_density(y[where], predicted[where], np.diag(noise)) if where.any() else 0.0
    result = expected(emission, y, means, 0.0 * covariances, where)[0]
    np.testing.assert_allclose(result, dense, rtol=1e-10, atol=1e-10)


@settings(deadline=None, max_examples=20)
@given(seeds, st.sampled_from([0.0, -7.0, 1e6, 1e150]))
def test_masked_outputs_have_no_influence(seed, hidden):
    emission, y, means, covariances, where = problem(seed)
    before, after = (expected(emission, np.where(where, y, h), means, covariances, where) for h in (y, hidden))
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        np.testing.assert_array_equal(a, b)


def test_mean_takes_points_and_batches():
    emission, _, means, _, _ = problem(2)
    batch = emission.mean(jnp.asarray(means))
    np.testing.assert_allclose(batch, means @ np.asarray(emission.weight).T + np.asarray(emission.offset), rtol=1e-12)
    np.testing.assert_allclose(emission.mean(jnp.asarray(means[1])), batch[1], rtol=1e-12)


@pytest.mark.parametrize(("outputs", "states"), [(2, 3), (3, 2), (2, 2)])
def test_first_states_reads_the_first_states(outputs, states):
    emission = LinearGaussian.first_states(outputs, states, noise=0.3)
    np.testing.assert_array_equal(val(emission.weight), np.eye(outputs, states))
    np.testing.assert_allclose(emission.noise_variance(), np.full(outputs, 0.3), rtol=1e-12)


def test_a_selection_is_fixed_unless_it_is_to_be_learnt():
    fixed = LinearGaussian.selecting([2, 0], 3)
    np.testing.assert_array_equal(val(fixed.weight), [[0, 0, 1], [1, 0, 0]])
    assert sum(jax.tree.leaves(trainable_mask(fixed))) == 1  # the noise
    assert sum(jax.tree.leaves(trainable_mask(LinearGaussian.selecting([2, 0], 3, learn=True)))) == 3


FLOOR = np.array([-0.5, 0.3])


def linear(seed: int) -> LinearGaussian:
    return problem(seed)[0]


def magnitude(seed: int) -> Magnitude:
    signed = linear(seed)
    return Magnitude(signed.weight, signed.offset, paramax.non_trainable(jnp.asarray(FLOOR)), signed.noise)


both = pytest.mark.parametrize("make", [linear, magnitude])


def shown(emission: LinearGaussian | Magnitude, states: np.ndarray) -> np.ndarray:
    """The noise-free outputs by definition."""
    signed = states @ np.asarray(emission.weight).T + np.asarray(emission.offset)
    return FLOOR + np.abs(signed) if isinstance(emission, Magnitude) else signed


def test_the_expectation_of_a_magnitude_is_the_mean_log_density_of_states():
    _, y, means, covariances, where = problem(2)
    emission = magnitude(2)
    noise = np.random.default_rng(3).standard_normal((6_000, T, D))
    states = means + np.einsum("tij,ktj->kti", np.linalg.cholesky(covariances), noise)
    np.testing.assert_allclose(emission.mean(jnp.asarray(states[0])), shown(emission, states[0]), atol=1e-12)
    variance = np.asarray(val(emission.noise))
    squares = (y - shown(emission, states)) ** 2
    logs = np.where(where, -0.5 * (np.log(2 * np.pi * variance) + squares / variance), 0.0).sum(axis=(1, 2))
    assert_mean(logs, expected(emission, y, means, covariances, where)[0])


def test_the_expectation_of_a_magnitude_is_an_integral_over_the_signed_output():
    """By quadrature, output by output: close enough to tell a folded normal from anything like it."""
    _, y, means, covariances, where = problem(2)
    emission = magnitude(2)
    weight, offset = np.asarray(emission.weight), np.asarray(emission.offset)
    signed, variance = means @ weight.T + offset, np.asarray(val(emission.noise))
    deviation = np.sqrt(np.einsum("oi,tij,oj->to", weight, covariances, weight))
    total = 0.0
    for t, o in np.argwhere(where):
        points = np.linspace(-10.0, 10.0, 200_001)
        shown_there = FLOOR[o] + np.abs(signed[t, o] + deviation[t, o] * points)
        logs = -0.5 * (np.log(2 * np.pi * variance[o]) + (y[t, o] - shown_there) ** 2 / variance[o])
        total += np.trapezoid(logs * np.exp(-0.5 * points**2) / np.sqrt(2.0 * np.pi), points)
    np.testing.assert_allclose(expected(emission, y, means, covariances, where)[0], total, rtol=1e-7)


@both
def test_the_density_of_an_output_is_that_of_a_gaussian_around_its_mean(make):
    emission = make(4)
    rng = np.random.default_rng(5)
    y, x = rng.standard_normal(OUTPUTS), rng.standard_normal(D)
    found = jit(lambda e, y, x: e.log_prob(y, x))(emission, y, x)
    assert found.shape == (OUTPUTS,)
    centre, variance = shown(emission, x), np.asarray(val(emission.noise))
    for o in range(OUTPUTS):
        dense = log_density(y[o : o + 1], centre[o : o + 1], variance[o : o + 1, None])
        np.testing.assert_allclose(found[o], dense, rtol=1e-12)


@both
def test_without_uncertainty_the_expectation_is_the_sum_of_the_densities(make):
    """What the bound uses and what a particle filter uses are the same emission."""
    emission = make(4)
    _, y, means, covariances, where = problem(4)
    logs = jit(jax.vmap(lambda e, y, x: e.log_prob(y, x), in_axes=(None, 0, 0)))(emission, y, means)
    total = np.asarray(logs)[where].sum()
    np.testing.assert_allclose(expected(emission, y, means, 0.0 * covariances, where)[0], total, rtol=1e-5)


@both
def test_samples_scatter_around_the_signal_with_the_noise_and_follow_the_key(make):
    emission = make(6)
    count, signals = 4_000, np.array([[3.0, -1.0], [0.5, 2.0]])
    draw = jit(lambda e, s, key: e.sample(s, key=key))
    samples, again, other = (
        np.asarray(draw(emission, np.broadcast_to(signals, (count, 2, OUTPUTS)), jr.key(seed))) for seed in (0, 0, 1)
    )
    for t in range(2):
        assert_covariance(samples[:, t], signals[t], np.diag(np.asarray(val(emission.noise))))
    # Heavy tails would raise the standard errors of moments, and pass: shares have errors that are bounded.
    assert_mean(np.abs(samples - signals) < np.sqrt(np.asarray(val(emission.noise))), erf(np.sqrt(0.5)))
    # One step tells nothing about the noise of the next.
    assert_mean((samples[:, 0] - signals[0]) * (samples[:, 1] - signals[1]), np.zeros(OUTPUTS))
    np.testing.assert_array_equal(samples, again)
    assert not np.any(samples == other)
