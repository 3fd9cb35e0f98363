"""The filter on a grid, and what is judged by it, against a fixed fine grid in plain NumPy, Kalman and particles."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import paramax
import pytest
from gpjax.kernels import RBF

from gpssm._core._params import Positive
from gpssm.data import Episodes
from gpssm.inference import GaussHermite
from gpssm.inference.marginal import (
    FilterLaplace,
    GivenFunction,
    OnNodes,
    PointMass,
    evidence_of,
    particle_log_evidence,
    with_posterior,
)
from gpssm.methods.marginal._safeguards import filter_gap, on_a_line
from gpssm.models import GPSSM, Batch, LinearGaussian, LinearMean, Magnitude, SparseGP
from tests.inference.test_marginal import KALMAN, linear_model
from tests.reference.compiling import jit
from tests.reference.kalman import LinearModel, evidence
from tests.reference.scalar_states import grid_evidence, scalar_model, simulated

PARTICLES = 2000


@jit
def on_points(model, values, batch, *, fitc=False):
    function, process = GivenFunction.of(model.transition, values), model.transition.noise_variance()
    rule = PointMass()
    return jax.vmap(lambda e: rule.log_evidence(function, process, model.emission, e, fitc=fitc))(batch).sum()


@jit
def by_particles(model, values, batch, key, *, fitc=False):
    function, process = GivenFunction.of(model.transition, values), model.transition.noise_variance()

    def one(episode, key):
        return particle_log_evidence(
            function, process, model.emission, episode, fitc=fitc, count=PARTICLES, key=key
        )  # fmt: skip

    return jax.vmap(one)(batch, jr.split(key, batch.valid.shape[0])).sum()


@jit
def gaussian(model, values, batch):
    return evidence_of(model, values, batch, OnNodes(GaussHermite(8)), fitc=False).log_evidence


def test_the_points_follow_a_belief_that_is_not_measured():
    """Most outputs are missing, several in a row: where the points lie next, the moved belief alone can tell."""
    model, values = scalar_model(noise=0.01, process=0.02)
    whole = simulated(model, values, episodes=6, steps=12, seed=2)
    gapped = [np.where(np.isin(np.arange(12), (0, 1, 6, 11))[:, None], e.y, np.nan) for e in whole]
    episodes = Episodes.from_arrays(y=gapped)
    found = float(on_points(model, jnp.asarray(values), Batch.of(episodes)))
    assert abs(found - grid_evidence(model, values, episodes)) / (6 * 4) < 5e-4


@pytest.mark.parametrize("noise", [0.01, 0.5])
def test_evidence_of_a_curved_function_against_a_grid(noise: float, getkey):
    model, values = scalar_model(noise=noise, process=0.02)
    episodes = simulated(model, values, episodes=6, steps=12, seed=2)
    expected = grid_evidence(model, values, episodes)
    given, batch, steps = jnp.asarray(values), Batch.of(episodes), episodes.num_steps
    assert abs(float(on_points(model, given, batch)) - expected) / steps < 5e-4
    drawn = [float(by_particles(model, given, batch, getkey(i))) for i in range(4)]
    assert abs(np.mean(drawn) - expected) < 4.0 * np.std(drawn) + 0.15
    # A Gaussian filter is close where states are well measured, and wrong where they are not.
    off = float(gaussian(model, given, batch)) - expected
    assert abs(off) / steps < (0.02 if noise < 0.1 else 0.15)
    assert noise < 0.1 or abs(off) / steps > 0.002
    # What is told of every fit has this size and this sign.
    inference = FilterLaplace.about(with_posterior(model, given, np.eye(5)), batch, carry=OnNodes(GaussHermite(8)))
    told = filter_gap(inference, model, batch, key=jr.key(0))
    assert told.off == pytest.approx(off / steps, abs=5e-4) and told.doubt == 0.0


@pytest.mark.parametrize("every", [1, 5])
@pytest.mark.parametrize("process", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("factor", [1.0, -0.8])
def test_a_linear_function_with_hardly_any_process_noise_is_kalmans(factor: float, process: float, every: int):
    """Images of neighbours are further apart than they spread then; a density of ripples would be seen at its tops,
    and vanishing noise would be rewarded."""
    mean = LinearMean(jnp.asarray([[factor]]), jnp.zeros((1, 0)), jnp.zeros(1))
    kernel = RBF(lengthscale=jnp.asarray([1.0]), variance=0.5)
    transition = SparseGP.create(kernel, jnp.asarray([[-1.0], [1.0]]), state_dim=1, noise=process, mean=mean)
    model = GPSSM(transition, LinearGaussian.first_states(1, 1, noise=0.1), 1)
    rng, found = np.random.default_rng(0), []
    for _ in range(8):
        x, y = rng.standard_normal(), []
        for t in range(40):
            y.append(x + np.sqrt(0.1) * rng.standard_normal() if t % every == 0 else np.nan)
            x = factor * x + np.sqrt(process) * rng.standard_normal()
        found.append(np.asarray(y)[:, None])
    episodes = Episodes.from_arrays(y=found)
    kalman = LinearModel(
        A=np.array([[factor]]),
        B=np.zeros((1, 0)),
        c=np.zeros(1),
        Q=np.array([process]),
        W=np.eye(1),
        b=np.zeros(1),
        R=np.array([0.1]),
    )
    expected = sum(evidence(kalman, e.y, e.u, e.observed) for e in episodes)
    given = jnp.zeros((1, 2))
    off = float(on_points(model, given, Batch.of(episodes))) - expected
    assert abs(off) / episodes.num_steps < 1e-3


@pytest.mark.system
def test_a_state_that_is_far_from_a_gaussian_belief_is_found():
    """One measurement in thirty is off by eight standard deviations. A narrower grid lost nats at every step."""
    gaps = []
    for seed in range(4):
        model, values = scalar_model(noise=0.2, process=0.02, size=7, seed=seed)
        whole = simulated(model, values, episodes=6, steps=30, seed=seed)
        y = [np.where(np.arange(30)[:, None] == 10, e.y + 8.0 * np.sqrt(0.2), e.y) for e in whole]
        episodes = Episodes.from_arrays(y=y)
        found = float(on_points(model, jnp.asarray(values), Batch.of(episodes)))
        gaps.append((found - grid_evidence(model, values, episodes, low=-12.0, high=12.0)) / episodes.num_steps)
    assert np.max(np.abs(gaps)) < 0.02


@pytest.mark.system
def test_what_inducing_values_leave_open_is_noise_to_both_referees(getkey):
    """Between and beyond sparse inducing inputs it is much more than the process noise."""
    model, values = scalar_model(noise=0.02, process=0.02, size=3)
    episodes = simulated(model, values, episodes=3, steps=10, seed=5)
    given, batch = jnp.asarray(values), Batch.of(episodes)
    expected = grid_evidence(model, values, episodes, fitc=True)
    assert abs(expected - grid_evidence(model, values, episodes)) > 5.0
    assert abs(float(on_points(model, given, batch, fitc=True)) - expected) / episodes.num_steps < 1e-3
    drawn = [float(by_particles(model, given, batch, getkey(i), fitc=True)) for i in range(4)]
    assert abs(np.mean(drawn) - expected) < 4.0 * np.std(drawn) + 0.15


@pytest.mark.system
def test_particles_find_nothing_wrong_with_a_linear_model_of_two_states():
    rng, model = np.random.default_rng(0), linear_model()
    found = []
    for _ in range(3):
        x, y, u = rng.standard_normal(2), [], rng.standard_normal((100, 1))
        for t in range(100):
            y.append(KALMAN.W @ x + KALMAN.b + np.sqrt(KALMAN.R) * rng.standard_normal(2))
            x = KALMAN.A @ x + KALMAN.B @ u[t] + KALMAN.c + np.sqrt(KALMAN.Q) * rng.standard_normal(2)
        found.append((np.asarray(y), u))
    batch = Batch.of(Episodes.from_arrays(y=[y for y, _ in found], u=[u for _, u in found]))
    settled = with_posterior(model, jnp.zeros((2, 1)), np.eye(2) * 0.1)
    gap = filter_gap(FilterLaplace.about(settled, batch), settled, batch, key=jr.key(0))
    assert abs(gap.off) < 0.02 and 0.0 < gap.doubt < 0.02


def test_a_sensor_that_loses_the_sign_is_not_judged_on_a_grid():
    """It tells of two places, which are narrow where a Gaussian belief is wide."""
    model, _ = scalar_model(noise=1e-3, process=0.05)
    assert on_a_line(model)
    nowhere = paramax.non_trainable(jnp.zeros(1))
    folded = Magnitude(jnp.eye(1), jnp.zeros(1), nowhere, Positive.of(jnp.asarray([1e-3])))
    assert not on_a_line(replace(model, emission=folded))
