"""A GP grown on a linear model: the linear posterior is exact, and growing starts from there."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.inference._smoother import linearised_posterior
from gpssm._core._params import Positive, cast
from gpssm.baselines import kalman_evidence
from gpssm.models._batch import Batch


def linear_posterior(model: gpssm.GPSSM, data: gpssm.Batch) -> gpssm.GaussMarkov:
    """One round, from anywhere: a tangent of a linear function is the function."""
    anywhere = np.random.default_rng(1).standard_normal((*data.valid.shape, model.state_dim))
    with jax.enable_x64(True):
        return linearised_posterior(model, data, anywhere, rounds=1)


@pytest.fixture(scope="module")
def records() -> gpssm.Episodes:
    """Two unequal records of a linear system with a missing stretch."""
    rng = np.random.default_rng(0)
    episodes = []
    for length in (25, 17):
        u, x, ys = rng.standard_normal((length, 1)), np.zeros(2), []
        for t in range(length):
            ys.append(x[:1] + 0.1 * rng.standard_normal(1))
            x = np.array([[0.9, 0.3], [-0.2, 0.8]]) @ x + np.array([0.0, 0.5]) * u[t] + 0.1 * rng.standard_normal(2)
        y = np.array(ys)
        y[5:8] = np.nan
        episodes.append(gpssm.Episode(y=y, u=u))
    return gpssm.Episodes(episodes)


@pytest.fixture(scope="module")
def linear(records: gpssm.Episodes) -> gpssm.System:
    """Some linear model: the facts below hold for any."""
    with jax.enable_x64(True):
        mean = gpssm.LinearMean(
            jnp.array([[0.8, 0.4], [-0.3, 0.7]]), jnp.array([[0.1], [0.6]]), jnp.array([0.05, -0.02])
        )
        transition = gpssm.Linear(mean, Positive.of(jnp.array([0.05, 0.2])))
        emission = gpssm.LinearGaussian(jnp.array([[1.0, 0.3]]), jnp.array([0.1]), Positive.of(jnp.array([0.04])))
        model = cast(gpssm.GPSSM(transition, emission, 2), np.float64)
    return gpssm.System(
        model=model,
        scaler=gpssm.Scaler.from_episodes(records),
        recognition=None,
        output_names=records.output_names,
        input_names=records.input_names,
    )


def test_bound_at_the_linear_posterior_is_the_evidence(records: gpssm.Episodes, linear: gpssm.System) -> None:
    data = Batch.of(linear.scaler.apply(records))
    with jax.enable_x64(True):
        states = gpssm.PerStepStates.from_posterior(linear_posterior(linear.model, data))
        inference = gpssm.MeanField(states, gpssm.Explicit(), gpssm.GaussHermite(2))
        bound, _ = inference.bound(linear.model, jax.tree.map(jnp.asarray, data), key=jr.key(0))
    np.testing.assert_allclose(float(bound.total()), kalman_evidence(linear, records), rtol=1e-9)


def test_posterior_means_are_those_of_the_smoother(records: gpssm.Episodes, linear: gpssm.System) -> None:
    data = Batch.of(linear.scaler.apply(records))
    posterior = linear_posterior(linear.model, data)
    for i, record in enumerate(records):
        smoothed = linear.smooth(record)
        np.testing.assert_allclose(np.asarray(posterior.means)[i, : len(record)], smoothed.means, atol=1e-8)


def test_growing_raises_the_bound_and_keeps_units(records: gpssm.Episodes, linear: gpssm.System) -> None:
    grown = gpssm.grow(linear, records, num_inducing=6, iterations=5, key=jr.key(1))
    bound = grown.history.bound
    assert np.isfinite(bound).all()
    assert bound[-1] > bound[0]
    assert isinstance(grown.identified.model.transition, gpssm.SparseGP)
    assert grown.identified.scaler == linear.scaler


def test_only_linear_models_grow(records: gpssm.Episodes, linear: gpssm.System) -> None:
    grown = gpssm.grow(linear, records, num_inducing=6, iterations=1, key=jr.key(1)).identified
    with pytest.raises(TypeError, match="SparseGP"):
        gpssm.grow(grown, records, key=jr.key(2))
