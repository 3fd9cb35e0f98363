"""Predictions with models that a Markov chain has drawn are the mixture of what each of them predicts."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ndtr

import gpssm
from gpssm.models import SampledModels, SparseGP
from gpssm.models._sampled_models import kernel_arrays
from gpssm.predict import Channels
from tests.predict.test_joint_moments import (
    LINEAR,
    READ,
    SAMPLES,
    SCALER,
    STEPS,
    D,
    Known,
    M,
    episode,
    noise_covariance,
    signals,
)
from tests.reference.kalman import LinearModel
from tests.reference.montecarlo import assert_mean

pytestmark = pytest.mark.system
ERRORS = 5.0
"""Standard errors by which what is counted may be off."""
VALUES = np.random.default_rng(4).standard_normal((2, D, M))
"""Inducing values of both models."""


def model(process: list[float], noise: list[float], scales: tuple[float, ...], variances: tuple[float, ...]) -> Known:
    linear = LinearModel(**{**vars(LINEAR), "Q": np.array(process), "R": np.array(noise)})
    return Known(linear, scales, variances, residual=True)


# The first hardly follows what is measured, the second follows it and nothing else: what they know of the start, and
# how much they add to it, has little to do with what a model half-way between them would say.
BOTH = (
    model([0.01, 0.02], [3.0, 4.0], (0.7, 1.1), (0.1, 0.2)),
    model([2.0, 1.0], [0.05, 0.02], (1.5, 0.4), (0.8, 0.3)),
)
MIDDLE = model([1.005, 0.51], [1.525, 2.01], (1.1, 0.75), (0.45, 0.25))
"""With the mean variances as noises, as particle Gibbs leaves it behind."""


def arrays_of(known: Known) -> list[np.ndarray]:
    transition = known.model(VALUES[0]).transition
    assert isinstance(transition, SparseGP)
    return [np.asarray(part) for part in kernel_arrays(transition.bases())]


def mixture() -> gpssm.System:
    process, noise = (jnp.asarray(np.stack([getattr(one.linear, name) for one in BOTH])) for name in "QR")
    kernels = tuple(jnp.asarray(np.stack(parts)) for parts in zip(*map(arrays_of, BOTH), strict=True))
    joint, middle = SampledModels(jnp.asarray(VALUES), process, noise, kernels), MIDDLE.model(VALUES.mean(axis=0))
    assert joint.fits(middle)
    return gpssm.System(middle, SCALER, Channels.of(episode()), joint=joint)


def test_free_runs_have_the_moments_of_the_mixture_and_not_of_the_model_in_its_middle():
    run = mixture().simulate(episode(), n_init=READ, num_samples=SAMPLES, seed=1)
    assert len(run.signals) == SAMPLES
    for steps in (1, 3, STEPS - READ):
        each = [signals(known, READ - 1, steps) for known in BOTH]
        means = np.stack([mean + slope @ v.ravel() for (mean, slope, _), v in zip(each, VALUES, strict=True)])
        covariances = np.stack([covariance for _, _, covariance in each])
        mean, apart = means.mean(axis=0), means - means.mean(axis=0)
        covariance = covariances.mean(axis=0) + apart.T @ apart / len(BOTH)

        found = run.signals[:, steps - 1]
        assert_mean(found, mean, errors=ERRORS)
        off = found - mean
        assert_mean(off[:, :, None] * off[:, None, :], covariance, errors=ERRORS)
        # The noise that is added in the end has the mean of both variances.
        off = run.samples[:, steps - 1] - mean
        measured = covariance + noise_covariance(MIDDLE.linear.R)
        assert_mean(off[:, :, None] * off[:, None, :], measured, errors=ERRORS)

        # Process noise that both had from the middle would add the same to the covariance. What it adds to each is seen
        # by how many trajectories lie below a level.
        levels = mean + np.linspace(-2.0, 2.0, 9)[:, None] * np.sqrt(np.diagonal(covariance))
        widths = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
        expected = ndtr((levels - means[:, None]) / widths[:, None]).mean(axis=0)
        below = (found[:, None] < levels).mean(axis=0)
        errors = np.abs(below - expected) / np.sqrt(expected * (1.0 - expected) / SAMPLES)
        assert (errors < ERRORS).all(), f"{steps} steps ahead, shares are {errors} standard errors off"
