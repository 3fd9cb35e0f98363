"""Filters of a state that moves by a GP, as textbook loops in plain NumPy.

The function is drawn anew at each step: x[t+1] ~ N(mean(x, u), variance(x, u) + noise), where mean and variance are
those of the sparse GP. What is not known about the function belongs to the noise of a step.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.reference.filtering import Filtered
from tests.reference.sparse_gp import SparseGP


@dataclass(frozen=True)
class GPModel:
    """One GP of (x, u) for the increment of each state; y = W x + b."""

    gps: tuple[SparseGP, ...]
    Q: np.ndarray
    W: np.ndarray
    b: np.ndarray
    R: np.ndarray

    def moments(self, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the state that follows, noise included."""
        point = np.concatenate([x, u])[None]
        each = [gp.predict(point) for gp in self.gps]
        return x + np.array([mean[0] for mean, _ in each]), self.Q + np.array([cov[0, 0] for _, cov in each])

    def slope(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Jacobian of the mean, by central differences."""
        steps = 1e-5 * np.eye(len(x))
        return np.stack([(self.moments(x + s, u)[0] - self.moments(x - s, u)[0]) / 2e-5 for s in steps], axis=1)


Move = Callable[[GPModel, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""From moments of x[t] to those of x[t+1], and the covariance of the two."""


def by_tangent(model: GPModel, mean: np.ndarray, covariance: np.ndarray, u: np.ndarray):
    """As the extended Kalman filter does."""
    slope, (ahead, noise) = model.slope(mean, u), model.moments(mean, u)
    return ahead, slope @ covariance @ slope.T + np.diag(noise), covariance @ slope.T


def by_cubature(model: GPModel, mean: np.ndarray, covariance: np.ndarray, u: np.ndarray):
    """Moments over the 2 D points that lie sqrt(D) standard deviations from the mean."""
    root = np.sqrt(len(mean)) * np.linalg.cholesky(covariance).T
    points = mean + np.concatenate([root, -root])
    means, noises = (np.stack(parts) for parts in zip(*(model.moments(x, u) for x in points), strict=True))
    ahead, around = means.mean(axis=0), means - means.mean(axis=0)
    spread = around.T @ around / len(points) + np.diag(noises.mean(axis=0))
    return ahead, spread, (points - mean).T @ around / len(points)


def gaussian_filter(model: GPModel, move: Move, y: np.ndarray, u: np.ndarray) -> tuple[Filtered, np.ndarray]:
    """x[0] ~ N(0, I); every output is seen. With the covariances of each state and the next."""
    dims = len(model.gps)
    mean, covariance, evidence, together = np.zeros(dims), np.eye(dims), 0.0, []
    means, covariances, predicted_means, predicted_covariances = [], [], [], []
    for t in range(len(y)):
        if t > 0:
            mean, covariance, cross = move(model, mean, covariance, u[t - 1])
            together.append(cross)
        predicted_means.append(mean)
        predicted_covariances.append(covariance)
        spread = model.W @ covariance @ model.W.T + np.diag(model.R)
        gain, missed = covariance @ model.W.T @ np.linalg.inv(spread), y[t] - model.W @ mean - model.b
        mean, covariance = mean + gain @ missed, covariance - gain @ spread @ gain.T
        evidence -= 0.5 * (missed @ np.linalg.solve(spread, missed) + np.linalg.slogdet(2.0 * np.pi * spread)[1])
        means.append(mean)
        covariances.append(covariance)
    parts = map(np.stack, (means, covariances, predicted_means, predicted_covariances))
    return Filtered(*parts, evidence), np.stack(together)


def smoother(filtered: Filtered, together: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rauch, Tung and Striebel, with whatever covariance each state and the next have."""
    means, covariances = filtered.means.copy(), filtered.covariances.copy()
    for t in range(len(means) - 2, -1, -1):
        ahead = filtered.predicted_covariances[t + 1]
        gain = together[t] @ np.linalg.inv(ahead)
        means[t] = filtered.means[t] + gain @ (means[t + 1] - filtered.predicted_means[t + 1])
        covariances[t] = filtered.covariances[t] + gain @ (covariances[t + 1] - ahead) @ gain.T
    return means, covariances


def grid_filter(model: GPModel, y: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean and variance of a single state without inputs, and the log-evidence: densities on a fine grid, no Gaussian
    assumed."""
    width = grid[1] - grid[0]
    moments = [gp.predict(grid[:, None]) for gp in model.gps]
    means, noises = grid + moments[0][0], model.Q[0] + np.diagonal(moments[0][1])
    # Column j: the density of the next state when this one is at grid point j.
    move = np.exp(-0.5 * (grid[:, None] - means) ** 2 / noises) / np.sqrt(2.0 * np.pi * noises)
    density = np.exp(-0.5 * grid**2) / np.sqrt(2.0 * np.pi)
    found, spreads, evidence = [], [], 0.0
    for t in range(len(y)):
        density = move @ density * width if t > 0 else density
        missed = y[t, 0] - model.W[0, 0] * grid - model.b[0]
        density = density * np.exp(-0.5 * missed**2 / model.R[0]) / np.sqrt(2.0 * np.pi * model.R[0])
        total = density.sum() * width
        evidence, density = evidence + np.log(total), density / total
        found.append(width * density @ grid)
        spreads.append(width * density @ (grid - found[-1]) ** 2)
    return np.array(found), np.array(spreads), float(evidence)
