"""A GP that corrects a linear model: the linear posterior is exact, and learning starts from there."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm._core._history import History
from gpssm._core._params import Positive, cast
from gpssm.fitting import Fit
from gpssm.inference import Explicit, GaussHermite, MeanField, PerStepStates, linearised_posterior
from gpssm.methods.linear import kalman_evidence
from gpssm.models import GPSSM, Batch, GaussMarkov, LinearGaussian, LinearMean, LinearTransition, SparseGP
from gpssm.optimisers import LBFGS
from gpssm.predict import Channels
from tests.reference.compiling import jit


def linear_posterior(model: GPSSM, data: Batch) -> GaussMarkov:
    """One round, from anywhere: a tangent of a linear function is the function."""
    anywhere = np.random.default_rng(1).standard_normal((*data.valid.shape, model.state_dim))
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
    mean = LinearMean(jnp.array([[0.8, 0.4], [-0.3, 0.7]]), jnp.array([[0.1], [0.6]]), jnp.array([0.05, -0.02]))
    transition = LinearTransition(mean, Positive.of(jnp.array([0.05, 0.2])))
    emission = LinearGaussian(jnp.array([[1.0, 0.3]]), jnp.array([0.1]), Positive.of(jnp.array([0.04])))
    model = cast(GPSSM(transition, emission, 2), np.float64)
    return gpssm.System(model, gpssm.Scaler.from_episodes(records), Channels.of(records))


@pytest.fixture(scope="module")
def earlier(linear: gpssm.System) -> Fit:
    """The same as if it had been learnt."""
    return Fit.of(linear, gpssm.Linear(2), gpssm.Result.finished, History(42.0, bound=np.array([-3.0])))


@pytest.fixture(scope="module")
def corrected(records: gpssm.Episodes, earlier: Fit) -> Fit:
    method = gpssm.GPCorrection(num_inducing=6, optimiser=LBFGS(5))
    return gpssm.fit(records, method, start=earlier, progress=gpssm.Silent(), seed=1)


def test_bound_at_the_linear_posterior_is_the_evidence(records: gpssm.Episodes, linear: gpssm.System) -> None:
    data = Batch.of(linear.scaler.apply(records))
    inference = MeanField(
        PerStepStates.from_posterior(linear_posterior(linear.model, data)), Explicit(), GaussHermite(2)
    )
    bound, _ = jit(inference.bound)(linear.model, data, key=jr.key(0))
    np.testing.assert_allclose(float(bound.total()), kalman_evidence(linear, records), rtol=1e-9)


def test_posterior_means_are_those_of_the_smoother(records: gpssm.Episodes, linear: gpssm.System) -> None:
    posterior = linear_posterior(linear.model, Batch.of(linear.scaler.apply(records)))
    for i, record in enumerate(records):
        smoothed = linear.smooth(record)
        np.testing.assert_allclose(np.asarray(posterior.means)[i, : len(record)], smoothed.means, atol=1e-8)


@pytest.mark.system
def test_correcting_raises_the_bound_and_keeps_units_and_history(corrected: Fit, linear: gpssm.System) -> None:
    before, bound = corrected.history.bound[0], corrected.history.bound[1:]
    assert before == -3.0, "what it went on from comes first"
    assert np.isfinite(bound).all() and bound[-1] > bound[0]
    assert isinstance(corrected.system.model.transition, SparseGP)
    assert corrected.system.scaler is linear.scaler
    assert corrected.system.recognition is None


@pytest.mark.system
def test_it_begins_at_the_linear_model_with_a_small_correction(
    records: gpssm.Episodes, earlier: Fit, linear: gpssm.System
) -> None:
    """The bound before the first step is that of the linear model, less what the GP's doubt costs."""
    small = gpssm.GPCorrection(num_inducing=6, variance_ratio=1e-6, optimiser=LBFGS(1))
    made = gpssm.fit(records, small, start=earlier, progress=gpssm.Silent(), seed=1)
    evidence = kalman_evidence(linear, records) / records.num_steps
    gained = float(made.history.events[-1].split("raised the bound by ")[1].split()[0])
    assert made.history.bound[-1] - gained == pytest.approx(evidence, abs=1e-3)


@pytest.mark.system
def test_only_linear_models_are_corrected(records: gpssm.Episodes, corrected: Fit) -> None:
    with pytest.raises(TypeError, match="only a linear state-space model can be corrected"):
        gpssm.fit(records, gpssm.GPCorrection(), start=corrected, progress=gpssm.Silent())


def test_without_a_linear_model_there_is_nothing_to_correct(records: gpssm.Episodes) -> None:
    with pytest.raises(ValueError, match=r"give linear=Linear\(order=\.\.\.\)"):
        gpssm.fit(records, gpssm.GPCorrection(), progress=gpssm.Silent())
