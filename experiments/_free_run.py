"""Scores of one free run over a test record whose first samples are read and not scored."""

import jax.random as jr
import numpy as np

import gpssm
from gpssm import metrics
from gpssm.predict import AbstractPredictor, MeanOnly

N_INIT = 16
NUM_SAMPLES = 300


def free_run(system: AbstractPredictor, test: gpssm.Episode, *, seed: int, n_init: int = N_INIT) -> gpssm.Rollout:
    """Simulate the record under its inputs."""
    return system.simulate(test, n_init=n_init, num_samples=NUM_SAMPLES, key=jr.fold_in(jr.key(100), seed))


def mean_run_error(system: AbstractPredictor, test: gpssm.Episode, n_init: int = N_INIT) -> float:
    """RMSE of the single run that follows the mean function without noise (of a mixture: of the mean of its members').

    Where sampled trajectories leave the range of the data their mean says little about the function itself.
    """
    run = system.simulate(test, n_init=n_init, num_samples=NUM_SAMPLES, propagation=MeanOnly(), key=jr.key(0))
    return metrics.rmse(test.y[run.start :], run.mean)


def scores(predicted: gpssm.Rollout, test: gpssm.Episode) -> dict[str, float]:
    """RMSE of the median in the units of the record, log density per sample (Gaussian with median and central spread),
    coverage."""
    truth = test.y[predicted.start :]
    low, high = predicted.interval(0.95)
    found = {
        "rmse": metrics.rmse(truth, predicted.median),
        "coverage_95": metrics.interval_coverage(truth, low, high),
    }
    if np.all(predicted.central_std > 0):
        found["log_density"] = metrics.log_density_gaussian(truth, predicted.median, predicted.central_std)
    return found
