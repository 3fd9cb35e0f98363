"""Smoothing and fitting in turn: smoothed states are the most probable ones, and the bound ends where L-BFGS ends."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import paramax
import pytest

import gpssm
from gpssm._core._params import val
from gpssm.inference import Cubature, linearised_posterior
from gpssm.methods import AbstractMethod, ModelSpec, PerStep, Variational
from gpssm.models import GPSSM, AbstractEmission, Batch, GaussMarkov, LinearGaussian
from gpssm.optimisers import LBFGS, AbstractOptimiser, Adam, Alternating
from gpssm.optimisers._first_noise import with_shared_noise
from tests.reference.compiling import jit


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


def method(optimiser: AbstractOptimiser, model: GPSSM | None = None) -> AbstractMethod:
    return Variational(model or ModelSpec(2, num_inducing=12), q_x=PerStep(), optimiser=optimiser)


def learn(records: gpssm.Episodes, method: AbstractMethod) -> gpssm.Fit:
    return gpssm.fit(records, method, progress=gpssm.Silent(), seed=0)


@pytest.fixture(scope="module")
def fitted(records: gpssm.Episodes) -> gpssm.Fit:
    return learn(records, method(Alternating(6, LBFGS(5))))


@pytest.mark.system
def test_smoothed_means_are_the_most_probable_states(records: gpssm.Episodes, fitted: gpssm.Fit) -> None:
    """At the fixed point the gradient of log p(y, x) with the mean transition vanishes."""
    model, data = fitted.system.model, Batch.of(fitted.system.scaler.apply(records))
    assert isinstance(model.emission, LinearGaussian)
    start = np.zeros((*data.valid.shape, 2))
    start[..., 0] = np.asarray(data.y)[..., 0]
    means = linearised_posterior(model, data, start, rounds=30).means

    def log_joint(x: jax.Array) -> jax.Array:
        dynamics = model.transition.condition()
        ahead = jax.vmap(jax.vmap(lambda a, b: dynamics.moments(a, b)[0]))(x[:, :-1], data.u[:, :-1])
        steps = data.valid[:, 1:, None] * (x[:, 1:] - ahead) ** 2 / dynamics.noise_variance()[None, None]
        seen = data.observed * (data.y - x @ val(model.emission.weight).T) ** 2
        noise = model.emission.noise_variance()[None, None]
        return -0.5 * (jnp.sum(x[:, 0] ** 2) + jnp.sum(steps) + jnp.sum(seen / noise))

    slope_at = jit(jax.grad(log_joint))
    slope = np.where(np.asarray(data.valid)[..., None], slope_at(means), 0.0)
    assert np.abs(slope).max() < 1e-6 * np.abs(slope_at(means + 0.01)).max()


@pytest.mark.system
def test_it_climbs_higher_than_lbfgs_alone_with_as_many_iterations(records: gpssm.Episodes, fitted: gpssm.Fit) -> None:
    alone = learn(records, method(LBFGS(60)))
    assert fitted.history.bound[-1] > alone.history.bound[-1]
    assert fitted.history.bound[-1] > fitted.history.bound[0]
    assert any("6 cycles" in event for event in fitted.history.events)


@pytest.mark.system
def test_what_the_first_fit_leaves_unexplained_is_shared_but_held_noise_stays(fitted: gpssm.Fit) -> None:
    """A guess differs from the state by noise at both ends of a step: a third for each of the three."""
    model = fitted.system.model
    unexplained = np.asarray(model.transition.noise_variance())
    shared = with_shared_noise(model, 1)
    np.testing.assert_allclose(shared.transition.noise_variance(), unexplained / 3.0)
    np.testing.assert_allclose(shared.emission.noise_variance(), unexplained[:1] / 3.0)
    held = eqx.tree_at(lambda m: m.emission.noise, model, replace_fn=paramax.non_trainable)
    shared = with_shared_noise(held, 1)
    np.testing.assert_allclose(shared.transition.noise_variance(), unexplained / 3.0)
    np.testing.assert_array_equal(shared.emission.noise_variance(), model.emission.noise_variance())


def test_cubature_is_exact_for_cubic_polynomials() -> None:
    rng = np.random.default_rng(2)
    means, factors = rng.standard_normal((5, 4)), np.tril(rng.standard_normal((5, 4, 4)))
    posterior = GaussMarkov(jnp.asarray(means), jnp.zeros((5, 4, 4)), jnp.asarray(factors))
    nodes, weights = map(np.asarray, Cubature().states(posterior, posterior.covariances(), key=jr.key(0)))
    deviations = nodes - means
    assert weights.sum() == pytest.approx(1.0, rel=1e-14)
    np.testing.assert_allclose(np.einsum("k,ktd->td", weights, nodes), means, atol=1e-12)
    second = np.einsum("k,kti,ktj->tij", weights, deviations, deviations)
    np.testing.assert_allclose(second, np.asarray(posterior.covariances()), atol=1e-12)
    third = np.einsum("k,kti,ktj,ktl->tijl", weights, deviations, deviations, deviations)
    np.testing.assert_allclose(third, 0.0, atol=1e-12)


class Bent(AbstractEmission):
    """The square of the first state."""

    def expected_log_prob(self, y, means, covariances, *, where):
        return jnp.zeros(())

    def mean(self, x):
        return x[..., :1] ** 2

    def noise_variance(self):
        return jnp.ones(1)

    def log_prob(self, y, x):
        return jnp.zeros(1)

    def sample(self, signals, *, key):
        return signals


@pytest.mark.system
def test_an_emission_that_cannot_be_smoothed_is_refused(records: gpssm.Episodes, fitted: gpssm.Fit) -> None:
    bent = GPSSM(fitted.system.model.transition, Bent(), 2)
    with pytest.raises(TypeError, match=r"needs a LinearGaussian emission, not Bent: use LBFGS\(\)"):
        learn(records, method(Alternating(), bent))


def test_a_network_is_refused(records: gpssm.Episodes) -> None:
    with pytest.raises(TypeError, match=r"use q_x=PerStep\(\)"):
        learn(records, Variational(ModelSpec(2, num_inducing=12), optimiser=Alternating()))


def test_only_adam_takes_the_steps_of_an_inference() -> None:
    assert [o.takes_steps_of_inference() for o in (Adam(), LBFGS(), Alternating())] == [True, False, False]
