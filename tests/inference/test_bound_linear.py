"""With a linear transition the evidence is known: the bound never exceeds it, and reaches it at the exact posterior."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpssm._core._params import Positive
from gpssm.data import Episode, Episodes
from gpssm.inference import Collapsed, GaussHermite, MeanField, MonteCarlo, PerStepStates
from gpssm.models import GPSSM, GaussMarkov, LinearGaussian, LinearMean, LinearTransition
from gpssm.models._batch import Batch
from tests.reference.compiling import constant, jit
from tests.reference.gaussian import chain_of
from tests.reference.kalman import LinearModel, evidence, posterior
from tests.reference.montecarlo import assert_mean

D, OUTPUTS, P = 2, 2, 1
LENGTHS = (5, 3)


@constant
def truth() -> LinearModel:
    rng = np.random.default_rng(0)
    return LinearModel(
        A=np.array([[0.8, 0.3], [-0.4, 0.7]]),
        B=rng.standard_normal((D, P)),
        c=rng.standard_normal(D),
        Q=np.array([0.2, 0.5]),
        W=rng.standard_normal((OUTPUTS, D)),
        b=rng.standard_normal(OUTPUTS),
        R=np.array([0.1, 0.4]),
    )


@constant
def records() -> Episodes:
    """Random outputs: the model need not be right for any of this to hold. Some are missing, and one step entirely."""
    rng = np.random.default_rng(1)
    y = [2.0 * rng.standard_normal((length, OUTPUTS)) for length in LENGTHS]
    y[0][2] = np.nan
    y[0][4, 0] = y[1][0, 1] = np.nan
    return Episodes([Episode(y=a, u=rng.standard_normal((len(a), P))) for a in y])


@constant
def model() -> GPSSM:
    t = truth()
    mean = LinearMean(*map(jnp.asarray, (t.A, t.B, t.c)))
    emission = LinearGaussian(jnp.asarray(t.W), jnp.asarray(t.b), Positive.of(t.R))
    return GPSSM(LinearTransition(mean, Positive.of(t.Q)), emission, D)


@constant
def log_evidence() -> float:
    return sum(evidence(truth(), e.y, e.u, e.observed) for e in records())


def test_the_two_references_agree():
    dense = sum(posterior(truth(), e.y, e.u, e.observed)[2] for e in records())
    np.testing.assert_allclose(log_evidence(), dense, rtol=1e-10)


@constant
def exact() -> PerStepStates:
    """The exact posterior of each episode as a chain, filled up with anything."""
    chains = []
    for e in records():
        mean, covariance, _ = posterior(truth(), e.y, e.u, e.observed)
        extra = max(LENGTHS) - len(e)
        means, gains, chols = chain_of(mean, covariance, D)
        chains.append(
            (
                np.pad(means, ((0, extra), (0, 0)), constant_values=7.0),
                np.pad(gains, ((0, extra), (0, 0), (0, 0)), constant_values=0.3),
                np.concatenate([chols, np.broadcast_to(np.eye(D), (extra, D, D))]),
            )
        )
    return PerStepStates.from_posterior(
        GaussMarkov(*(jnp.asarray(np.stack(parts)) for parts in zip(*chains, strict=True)))
    )


@constant
def data() -> Batch:
    return Batch.of(records())


@jit
def bound_and_gradient(free: PerStepStates, model: GPSSM, data: Batch) -> tuple[jax.Array, PerStepStates]:
    def total(states: PerStepStates) -> jax.Array:
        # The integrand is quadratic in the state, so that two nodes are exact and three more than enough.
        return MeanField(states, expectation=GaussHermite(3)).bound(model, data, key=jr.key(0))[0].total()

    return eqx.filter_value_and_grad(total)(free)


def test_at_the_exact_posterior_the_bound_is_the_evidence_and_stationary():
    value, gradient = bound_and_gradient(exact(), model(), data())
    np.testing.assert_allclose(value, log_evidence(), rtol=0.0, atol=1e-8)
    for leaf in jax.tree.leaves(gradient):
        np.testing.assert_allclose(leaf, 0.0, atol=1e-8)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31), st.sampled_from([1e-3, 0.1, 1.0]))
def test_for_any_other_posterior_the_bound_is_below_the_evidence(seed, size):
    rng = np.random.default_rng(seed)
    moved = jax.tree.map(lambda leaf: leaf + size * rng.standard_normal(leaf.shape), exact())
    value, gradient = bound_and_gradient(moved, model(), data())
    assert value < log_evidence()
    assert any(np.any(np.abs(leaf) > 1e-5) for leaf in jax.tree.leaves(gradient))


@pytest.mark.parametrize("antithetic", [False, True])
def test_bounds_from_paths_scatter_around_the_exact_one(antithetic):
    rng = np.random.default_rng(2)
    moved = jax.tree.map(lambda leaf: leaf + 0.2 * rng.standard_normal(leaf.shape), exact())

    @jit
    def totals(free: PerStepStates, model: GPSSM, data: Batch, keys: jax.Array) -> jax.Array:
        inference = MeanField(free, expectation=MonteCarlo(2, antithetic=antithetic))
        return jax.vmap(lambda key: inference.bound(model, data, key=key)[0].total())(keys)

    exact_bound, _ = bound_and_gradient(moved, model(), data())
    assert_mean(totals(moved, model(), data(), jr.split(jr.key(3), 3_000)), exact_bound)


def test_antithetic_paths_are_mirrored_about_the_mean():
    q = GaussMarkov(jnp.ones((3, D)), 0.5 * jnp.ones((3, D, D)), jnp.broadcast_to(jnp.eye(D), (3, D, D)))
    rule = MonteCarlo(4, antithetic=True)
    states, weights = jit(lambda q, key: rule.states(q, q.covariances(), key=key))(q, jr.key(4))
    np.testing.assert_allclose(states[:2] + states[2:], 2.0, rtol=1e-12)
    np.testing.assert_array_equal(weights, 0.25)
    for num in (0, 3):
        with pytest.raises(ValueError, match="even number"):
            MonteCarlo(num, antithetic=True)


@pytest.mark.parametrize(("points", "dims"), [(3, 1), (4, 2)])
def test_quadrature_nodes_have_the_moments_of_the_marginals(points, dims):
    rng = np.random.default_rng(5)
    chols = np.tril(rng.standard_normal((3, dims, dims))) + 2.0 * np.eye(dims)
    gains = rng.standard_normal((3, dims, dims))
    q = GaussMarkov(*map(jnp.asarray, (rng.standard_normal((3, dims)), gains, chols)))

    @jit
    def nodes(q: GaussMarkov) -> tuple[jax.Array, ...]:
        return q.covariances(), *GaussHermite(points).states(q, q.covariances(), key=jr.key(6))

    covariances, states, weights = nodes(q)
    assert states.shape == (points**dims, 3, dims)
    np.testing.assert_allclose(np.sum(weights), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.einsum("k,ktd->td", weights, states), q.means, rtol=1e-10)
    deviations = np.asarray(states) - np.asarray(q.means)
    found = np.einsum("k,kti,ktj->tij", weights, deviations, deviations)
    np.testing.assert_allclose(found, covariances, rtol=1e-9, atol=1e-10)
    # Fourth moments too: Isserlis for one coordinate.
    fourth = np.einsum("k,kt->t", weights, deviations[..., 0] ** 4)
    np.testing.assert_allclose(fourth, 3.0 * np.asarray(covariances)[:, 0, 0] ** 2, rtol=1e-9)


def test_a_linear_transition_cannot_be_collapsed():
    inference = MeanField(exact(), inducing=Collapsed())
    with pytest.raises(TypeError, match="has no q"):
        eqx.filter_eval_shape(inference.bound, model(), data(), key=jr.key(7))
