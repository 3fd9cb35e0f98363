"""Kalman filter and Rauch-Tung-Striebel smoother as textbook loops in plain NumPy."""

from dataclasses import dataclass

import numpy as np

from tests.reference.kalman import LinearModel


@dataclass(frozen=True)
class Filtered:
    """Moments of x[t] given the outputs up to t, and of x[t] and y[t] given those up to t - 1."""

    means: np.ndarray
    covariances: np.ndarray
    predicted_means: np.ndarray
    predicted_covariances: np.ndarray
    evidence: float


def kalman_filter(model: LinearModel, y: np.ndarray, u: np.ndarray, observed: np.ndarray) -> Filtered:
    """x[0] ~ N(0, I) is measured by y[0]; u[t] moves x[t] to x[t+1]."""
    mean, covariance, evidence = np.zeros(len(model.c)), np.eye(len(model.c)), 0.0
    means, covariances, predicted_means, predicted_covariances = [], [], [], []
    for t in range(len(y)):
        if t > 0:
            mean = model.A @ mean + model.B @ u[t - 1] + model.c
            covariance = model.A @ covariance @ model.A.T + np.diag(model.Q)
        predicted_means.append(mean)
        predicted_covariances.append(covariance)
        seen = observed[t]
        if seen.any():
            read = model.W[seen]
            innovation = y[t, seen] - read @ mean - model.b[seen]
            spread = read @ covariance @ read.T + np.diag(model.R[seen])
            gain = covariance @ read.T @ np.linalg.inv(spread)
            mean = mean + gain @ innovation
            covariance = covariance - gain @ spread @ gain.T
            distance = innovation @ np.linalg.solve(spread, innovation)
            evidence -= 0.5 * (distance + np.linalg.slogdet(2.0 * np.pi * spread)[1])
        means.append(mean)
        covariances.append(covariance)
    return Filtered(*map(np.stack, (means, covariances, predicted_means, predicted_covariances)), evidence)


def rts_smoother(model: LinearModel, filtered: Filtered) -> tuple[np.ndarray, np.ndarray]:
    """Moments of each x[t] given all outputs."""
    means, covariances = filtered.means.copy(), filtered.covariances.copy()
    for t in range(len(means) - 2, -1, -1):
        ahead = filtered.predicted_covariances[t + 1]
        gain = filtered.covariances[t] @ model.A.T @ np.linalg.inv(ahead)
        means[t] = filtered.means[t] + gain @ (means[t + 1] - filtered.predicted_means[t + 1])
        covariances[t] = filtered.covariances[t] + gain @ (covariances[t + 1] - ahead) @ gain.T
    return means, covariances
