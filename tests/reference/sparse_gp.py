"""A sparse GP for one output in plain NumPy, in terms of the inducing values u themselves (not whitened)."""

from dataclasses import dataclass

import numpy as np

from tests.reference.gaussian import kl
from tests.reference.kernels import Kernel, matrix, variances

JITTER = 1e-6
"""Added to the kernel matrix of the inducing inputs, relative to its mean diagonal."""


@dataclass(frozen=True)
class SparseGP:
    """g ~ GP(0, kernel) with q(u) = N(mean, covariance) for u = g(inducing)."""

    kernel: Kernel
    inducing: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray

    def prior(self) -> np.ndarray:
        """K_zz with its jitter."""
        K = matrix(self.kernel, self.inducing, self.inducing)
        return K + JITTER * np.mean(np.diag(K)) * np.eye(len(K))

    def projection(self, points: np.ndarray) -> np.ndarray:
        """K_xz K_zz^-1."""
        return np.swapaxes(np.linalg.solve(self.prior(), matrix(self.kernel, self.inducing, points)), -1, -2)

    def conditional(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The matrix that maps u to the mean of g at the points, and the covariance that u leaves unexplained.

        For one set of points or a stack of sets.
        """
        projection = self.projection(points)
        explained = projection @ matrix(self.kernel, self.inducing, points)
        return projection, matrix(self.kernel, points, points) - explained

    def predict(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and full covariance of g at the points under q."""
        projection, unexplained = self.conditional(points)
        return projection @ self.mean, unexplained + projection @ self.covariance @ projection.T

    def kl(self) -> float:
        """KL[q(u) || p(u)]."""
        return kl(self.mean, self.covariance, np.zeros(len(self.mean)), self.prior())


def whitened(gp: SparseGP, mean: np.ndarray, chol: np.ndarray) -> SparseGP:
    """The same GP with q(u) given by that of v = L^-1 u."""
    factor = np.linalg.cholesky(gp.prior())
    return SparseGP(gp.kernel, gp.inducing, factor @ mean, factor @ chol @ chol.T @ factor.T)


def collapsed_bound(
    kernel: Kernel,
    inducing: np.ndarray,
    points: np.ndarray,
    residuals: np.ndarray,
    extra_variance: np.ndarray,
    weights: np.ndarray,
    noise: float,
) -> float:
    """The expected log-density of weighted residuals r_n ~ N(residuals, extra_variance) minus KL, at the best q(u).

    (log det K - log det(K + P) + c'(K + P)^-1 c) / 2 - sum E[r^2] / (2 s^2) - sum (k_nn - k_n'K^-1 k_n) / (2 s^2)
    - n log(2 pi s^2) / 2, with P = sum k_n k_n' / s^2 and c = sum k_n r_n / s^2.
    """
    K = SparseGP(kernel, inducing, residuals, residuals).prior()
    cross = matrix(kernel, inducing, points)
    P, c = cross @ np.diag(weights) @ cross.T / noise, cross @ (weights * residuals) / noise
    unexplained = variances(kernel, points) - np.sum(cross * np.linalg.solve(K, cross), axis=0)
    log_dets = np.linalg.slogdet(K)[1] - np.linalg.slogdet(K + P)[1]
    squares = residuals**2 + extra_variance
    return (
        0.5 * (log_dets + c @ np.linalg.solve(K + P, c))
        - np.sum(weights * (squares + unexplained)) / (2.0 * noise)
        - 0.5 * np.sum(weights) * np.log(2.0 * np.pi * noise)
    )


def optimum(
    gp: SparseGP, points: np.ndarray, residuals: np.ndarray, weights: np.ndarray, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the best q(u): K (K + P)^-1 c and K (K + P)^-1 K."""
    K, cross = gp.prior(), matrix(gp.kernel, gp.inducing, points)
    P, c = cross @ np.diag(weights) @ cross.T / noise, cross @ (weights * residuals) / noise
    return K @ np.linalg.solve(K + P, c), K @ np.linalg.solve(K + P, K)
