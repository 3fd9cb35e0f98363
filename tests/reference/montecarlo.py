"""Comparison of a Monte-Carlo estimate with an exact value, in standard errors."""

import numpy as np


def assert_mean(samples: np.ndarray, expected: np.ndarray | float, *, errors: float = 5.0) -> None:
    """The mean of independent samples (first axis) lies within `errors` standard errors of `expected`."""
    samples, expected = np.asarray(samples, np.float64), np.asarray(expected, np.float64)
    assert np.all(np.isfinite(samples)), "a sample is not finite"
    spread = np.std(samples, axis=0, ddof=1) / np.sqrt(len(samples))
    off = np.abs(np.mean(samples, axis=0) - expected)
    # The last term is rounding: it matters only where all samples are equal.
    excess = off - errors * spread - 1e-9 * (1.0 + np.abs(expected))
    assert np.all(excess <= 0.0), f"off by {off}, which is {off / spread} standard errors"


def assert_covariance(samples: np.ndarray, mean: np.ndarray, covariance: np.ndarray, *, errors: float = 5.0) -> None:
    """Mean and covariance of independent Gaussian vectors (rows) agree with the exact ones within standard errors.

    Those are the ones that Gaussian vectors of this covariance have. Taken from the samples they would grow with what
    is wrong with these: heavy tails would pass.
    """
    samples, count = np.asarray(samples, np.float64), len(samples)
    assert np.all(np.isfinite(samples)), "a sample is not finite"
    deviations, variances = samples - mean, np.diagonal(covariance)
    rounding = 1e-9 * (1.0 + np.abs(covariance))
    off = np.abs(deviations.mean(axis=0))
    assert np.all(off <= errors * np.sqrt(variances / count) + np.diagonal(rounding)), f"means are off by {off}"
    off = np.abs(deviations.T @ deviations / count - covariance)
    spread = np.sqrt((np.outer(variances, variances) + np.asarray(covariance) ** 2) / count)
    assert np.all(off <= errors * spread + rounding), f"covariances are off by {off / spread} standard errors"
