"""The Gauss-Markov posterior against the dense joint Gaussian of a short trajectory."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpssm.models import GaussMarkov
from tests.reference.compiling import jit
from tests.reference.gaussian import chain_covariance, chain_of, entropy, log_density
from tests.reference.montecarlo import assert_covariance, assert_mean

quick = settings(deadline=None, max_examples=20)
seeds = st.integers(0, 2**31)
T, D = 4, 2


def random_chain(seed: int) -> GaussMarkov:
    rng = np.random.default_rng(seed)
    chols = np.tril(rng.standard_normal((T, D, D)))
    chols[:, np.arange(D), np.arange(D)] = np.exp(0.5 * rng.standard_normal((T, D)))
    gains = rng.standard_normal((T, D, D))
    return GaussMarkov(*map(jnp.asarray, (rng.standard_normal((T, D)), gains, chols)))


def dense(q: GaussMarkov) -> tuple[np.ndarray, np.ndarray]:
    chols = np.asarray(q.chols)
    return np.asarray(q.means).ravel(), chain_covariance(np.asarray(q.gains), chols @ chols.transpose(0, 2, 1))


@jit
def everything(q: GaussMarkov, where: jax.Array, states: jax.Array) -> dict:
    return {
        "marginals": q.marginals(),
        "covariances": q.covariances(),
        "entropy": q.entropy(where=where),
        "next": q.next_given(states),
    }


without_offsets = jit(GaussMarkov.without_offsets)
ALL, NO_STATES = jnp.ones(T, bool), jnp.zeros((1, T, D))


@quick
@given(seeds)
def test_marginals_equal_the_blocks_of_the_dense_joint(seed):
    q = random_chain(seed)
    mean, covariance = dense(q)
    results = everything(q, ALL, NO_STATES)
    means, chols = results["marginals"]
    blocks = covariance.reshape(T, D, T, D)
    expected = np.stack([blocks[t, :, t] for t in range(T)])
    np.testing.assert_allclose(means, mean.reshape(T, D), rtol=1e-12)
    np.testing.assert_allclose(results["covariances"], expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(chols @ np.swapaxes(chols, 1, 2), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(chols, np.tril(chols))


@quick
@given(seeds, st.integers(1, T))
def test_entropy_equals_that_of_the_dense_joint_of_the_states_that_count(seed, length):
    q = random_chain(seed)
    covariance = dense(q)[1][: length * D, : length * D]
    result = everything(q, jnp.arange(T) < length, NO_STATES)["entropy"]
    np.testing.assert_allclose(result, entropy(covariance), rtol=1e-9, atol=1e-9)


@quick
@given(seeds)
def test_next_state_equals_the_conditional_of_the_dense_joint(seed):
    q = random_chain(seed)
    mean, covariance = dense(q)
    states = np.random.default_rng(seed).standard_normal((1, T, D))
    means, variances = everything(q, ALL, jnp.asarray(states))["next"]
    blocks, centre = covariance.reshape(T, D, T, D), mean.reshape(T, D)
    for t in range(T - 1):
        gain = blocks[t + 1, :, t] @ np.linalg.inv(blocks[t, :, t])
        conditional = blocks[t + 1, :, t + 1] - gain @ blocks[t, :, t + 1]
        np.testing.assert_allclose(means[0, t], centre[t + 1] + gain @ (states[0, t] - centre[t]), rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(variances[t], np.diag(conditional), rtol=1e-6, atol=1e-8)


def test_samples_have_the_dense_mean_and_covariance_across_time():
    q = random_chain(1)
    samples = jit(lambda q, key: q.sample(8_000, key=key))(q, jr.key(0))
    assert_covariance(np.asarray(samples).reshape(8_000, T * D), *dense(q))


def test_entropy_is_minus_the_mean_log_density_of_samples():
    q = random_chain(2)
    samples = np.asarray(jit(lambda q, key: q.sample(4_000, key=key))(q, jr.key(1))).reshape(4_000, T * D)
    assert_mean(-log_density(samples, *dense(q)), everything(q, ALL, NO_STATES)["entropy"])


@quick
@given(seeds)
def test_the_family_without_offsets_maps_each_state_by_its_gain_alone(seed):
    q = random_chain(seed)
    first = q.means[0]
    chain = without_offsets(first, q.gains, q.chols)
    expected = [np.asarray(first)]
    for t in range(1, T):
        expected.append(np.asarray(q.gains[t]) @ expected[-1])
    np.testing.assert_allclose(chain.means, expected, rtol=1e-10, atol=1e-12)
    # E[x[t] | x[t-1]] = A[t] x[t-1], without a constant.
    states = np.random.default_rng(seed).standard_normal((1, T, D))
    means, _ = everything(chain, ALL, jnp.asarray(states))["next"]
    np.testing.assert_allclose(means[0], np.einsum("tij,tj->ti", q.gains[1:], states[0, :-1]), rtol=1e-9, atol=1e-9)


def test_a_dense_markov_gaussian_is_held_exactly():
    q = random_chain(3)
    means, gains, chols = chain_of(*dense(q), D)
    np.testing.assert_allclose(means, q.means, rtol=1e-12)
    np.testing.assert_allclose(gains[1:], q.gains[1:], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(chols, q.chols, rtol=1e-9, atol=1e-10)
