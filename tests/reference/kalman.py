"""The linear-Gaussian state-space model in plain NumPy: evidence by the Kalman filter, posterior from the dense
joint."""

from dataclasses import dataclass

import numpy as np

from tests.reference.gaussian import chain_covariance, log_density


@dataclass(frozen=True)
class LinearModel:
    """x[0] ~ N(0, I), x[t+1] = A x[t] + B u[t] + c + N(0, diag Q), y[t] = W x[t] + b + N(0, diag R)."""

    A: np.ndarray
    B: np.ndarray
    c: np.ndarray
    Q: np.ndarray
    W: np.ndarray
    b: np.ndarray
    R: np.ndarray


def evidence(model: LinearModel, y: np.ndarray, u: np.ndarray, observed: np.ndarray) -> float:
    """Log-density of the observed outputs by the textbook recursion, one scalar measurement at a time."""
    dims = len(model.c)
    mean, covariance, total = np.zeros(dims), np.eye(dims), 0.0
    for t in range(len(y)):
        for o in np.flatnonzero(observed[t]):
            row = model.W[o]
            variance = row @ covariance @ row + model.R[o]
            error = y[t, o] - row @ mean - model.b[o]
            total += -0.5 * (np.log(2.0 * np.pi * variance) + error**2 / variance)
            gain = covariance @ row / variance
            mean = mean + gain * error
            covariance = covariance - np.outer(gain, row @ covariance)
        mean = model.A @ mean + model.B @ u[t] + model.c
        covariance = model.A @ covariance @ model.A.T + np.diag(model.Q)
    return total


def joint(model: LinearModel, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Prior mean (T D) and covariance (T D, T D) of the whole state trajectory."""
    steps, dims = len(u), len(model.c)
    means = np.zeros((steps, dims))
    for t in range(1, steps):
        means[t] = model.A @ means[t - 1] + model.B @ u[t - 1] + model.c
    noises = np.stack([np.eye(dims)] + [np.diag(model.Q)] * (steps - 1))
    return means.ravel(), chain_covariance(np.stack([model.A] * steps), noises)


def posterior(
    model: LinearModel, y: np.ndarray, u: np.ndarray, observed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean and covariance of the states given the observed outputs, and the evidence, all from the dense joint."""
    prior_mean, prior_covariance = joint(model, u)
    seen = observed.ravel()
    read = np.kron(np.eye(len(y)), model.W)[seen]
    offset, noise = np.tile(model.b, len(y))[seen], np.tile(model.R, len(y))[seen]
    innovation = read @ prior_covariance @ read.T + np.diag(noise)
    gain = np.linalg.solve(innovation, read @ prior_covariance).T
    mean = prior_mean + gain @ (y.ravel()[seen] - read @ prior_mean - offset)
    log_evidence = log_density(y.ravel()[seen], read @ prior_mean + offset, innovation)
    return mean, prior_covariance - gain @ read @ prior_covariance, float(log_evidence)
