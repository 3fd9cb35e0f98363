"""Smoothing and fitting in turn: smoothed states are the most probable ones, and the bound ends where L-BFGS ends."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import paramax
import pytest

import gpssm
from gpssm.inference._smoother import linearised_posterior
from gpssm._core._params import val
from gpssm.models._batch import Batch


@pytest.fixture(scope="module")
def records() -> gpssm.Episodes:
    """A damped pendulum of which only the angle is measured, with a gap."""
    rng = np.random.default_rng(0)
    episodes = []
    for length in (30, 22):
        u, x, ys = rng.standard_normal((length, 1)), rng.standard_normal(2), []
        for t in range(length):
            ys.append(x[:1] + 0.05 * rng.standard_normal(1))
            x = x + 0.3 * np.array([x[1], -np.sin(x[0]) - 0.3 * x[1] + u[t, 0]])
        y = np.array(ys)
        y[4:6] = np.nan
        episodes.append(gpssm.Episode(y=y, u=u))
    return gpssm.Episodes(episodes)


@pytest.fixture(scope="module")
def fitted(records: gpssm.Episodes) -> gpssm.FitResult:
    model = gpssm.GPSSM.from_data(records, state_dim=2, num_inducing=12, key=jr.key(0))
    return gpssm.fit_alternating(model, records, cycles=6, iterations=5, key=jr.key(1))


def test_smoothed_means_are_the_most_probable_states(records: gpssm.Episodes, fitted: gpssm.FitResult) -> None:
    """At the fixed point the gradient of log p(y, x) with the mean transition vanishes."""
    identified = fitted.identified
    model, data = identified.model, Batch.of(identified.scaler.apply(records))
    with jax.enable_x64(True):
        start = np.zeros((*data.valid.shape, 2))
        start[..., 0] = np.asarray(data.y)[..., 0]
        means = jnp.asarray(linearised_posterior(model, data, start, rounds=30).means)
        dynamics = model.transition.condition()
        assert isinstance(model.emission, gpssm.LinearGaussian)

        def log_joint(x: jax.Array) -> jax.Array:
            ahead = jax.vmap(jax.vmap(lambda a, b: dynamics.moments(a, b)[0]))(x[:, :-1], jnp.asarray(data.u)[:, :-1])
            steps = (
                jnp.asarray(data.valid)[:, 1:, None] * (x[:, 1:] - ahead) ** 2 / dynamics.noise_variance()[None, None]
            )
            seen = jnp.asarray(data.observed) * (jnp.asarray(data.y) - x @ val(model.emission.weight).T) ** 2
            noise = model.emission.noise_variance()[None, None]
            return -0.5 * (jnp.sum(x[:, 0] ** 2) + jnp.sum(steps) + jnp.sum(seen / noise))

        slope = jax.grad(log_joint)(means)
        slope = jnp.where(jnp.asarray(data.valid)[..., None], slope, 0.0)
        scale = jnp.abs(jax.grad(log_joint)(means + 0.01)).max()
    assert float(jnp.abs(slope).max()) < 1e-6 * float(scale)


def test_it_climbs_at_least_as_high_as_free_states_with_as_many_iterations(
    records: gpssm.Episodes, fitted: gpssm.FitResult
) -> None:
    model = gpssm.GPSSM.from_data(records, state_dim=2, num_inducing=12, key=jr.key(0))
    free = gpssm.fit_free(model, records, iterations=60, key=jr.key(1))
    assert fitted.history.bound[-1] > free.history.bound[-1]
    assert fitted.history.bound[-1] > fitted.history.bound[0]
    assert any("cycles" in event for event in fitted.history.events)


def test_noise_that_is_not_to_be_learnt_stays(records: gpssm.Episodes) -> None:
    model = gpssm.GPSSM.from_data(records, state_dim=2, num_inducing=6, noise_variance=0.02, key=jr.key(0))
    assert isinstance(model.emission, gpssm.LinearGaussian)
    model = eqx.tree_at(lambda m: m.emission.noise, model, paramax.non_trainable(model.emission.noise))
    fit = gpssm.fit_alternating(model, records, cycles=1, iterations=0, key=jr.key(1))
    np.testing.assert_allclose(np.asarray(fit.identified.model.emission.noise_variance()), 0.02, rtol=1e-12)


def test_cubature_is_exact_for_cubic_polynomials() -> None:
    rng = np.random.default_rng(2)
    with jax.enable_x64(True):
        means, factors = jnp.asarray(rng.standard_normal((5, 4))), jnp.asarray(np.tril(rng.standard_normal((5, 4, 4))))
        posterior = gpssm.GaussMarkov(means, jnp.zeros((5, 4, 4)), factors)
        covariances = posterior.covariances()
        nodes, weights = gpssm.Cubature().states(posterior, covariances, key=jr.key(0))
        deviations = nodes - means[None]
        np.testing.assert_allclose(np.asarray(jnp.sum(weights)), 1.0, rtol=1e-14)
        np.testing.assert_allclose(jnp.einsum("k,ktd->td", weights, nodes), means, atol=1e-12)
        second = jnp.einsum("k,kti,ktj->tij", weights, deviations, deviations)
        np.testing.assert_allclose(second, covariances, atol=1e-12)
        third = jnp.einsum("k,kti,ktj,ktl->tijl", weights, deviations, deviations, deviations)
        np.testing.assert_allclose(third, 0.0, atol=1e-12)


def test_an_emission_that_cannot_be_smoothed_is_refused(records: gpssm.Episodes) -> None:
    class Bent(gpssm.AbstractEmission):
        def expected_log_prob(self, y, means, covariances, *, where):
            return jnp.zeros(())

        def mean(self, x):
            return x[..., :1] ** 2

        def noise_variance(self):
            return jnp.ones(1)

    model = gpssm.GPSSM.from_data(records, state_dim=2, num_inducing=6, key=jr.key(0))
    bent = gpssm.GPSSM(model.transition, Bent(), 2)
    with pytest.raises(TypeError, match="fit_free"):
        gpssm.fit_alternating(bent, records, key=jr.key(0))
