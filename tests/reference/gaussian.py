"""Dense Gaussians and Gauss-Markov chains, in plain NumPy."""

import numpy as np

LOG_2PI = np.log(2.0 * np.pi)


def log_density(x: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """log N(x | mean, covariance) for a vector or a stack of vectors."""
    deviation = np.atleast_2d(x - mean)
    squares = np.sum(deviation * np.linalg.solve(covariance, deviation.T).T, axis=1)
    values = -0.5 * (squares + np.linalg.slogdet(covariance)[1] + len(covariance) * LOG_2PI)
    return values if np.ndim(x) > 1 else values[0]


def entropy(covariance: np.ndarray) -> float:
    """Differential entropy of a Gaussian."""
    return 0.5 * (len(covariance) * (LOG_2PI + 1.0) + np.linalg.slogdet(covariance)[1])


def kl(mean: np.ndarray, covariance: np.ndarray, prior_mean: np.ndarray, prior_covariance: np.ndarray) -> float:
    """KL[N(mean, covariance) || N(prior_mean, prior_covariance)]."""
    off = prior_mean - mean
    return 0.5 * (
        np.trace(np.linalg.solve(prior_covariance, covariance))
        + off @ np.linalg.solve(prior_covariance, off)
        - len(mean)
        + np.linalg.slogdet(prior_covariance)[1]
        - np.linalg.slogdet(covariance)[1]
    )


def chain_covariance(gains: np.ndarray, noises: np.ndarray) -> np.ndarray:
    """Joint covariance (T D, T D) of x[0] = e[0], x[t] = gains[t] x[t-1] + e[t] with e[t] ~ N(0, noises[t])."""
    steps, dims = noises.shape[:2]
    # x = (I - G)^-1 e with the gains on the first block below the diagonal.
    recursion = np.eye(steps * dims)
    noise = np.zeros((steps * dims, steps * dims))
    for t in range(steps):
        here = slice(t * dims, (t + 1) * dims)
        noise[here, here] = noises[t]
        if t > 0:
            recursion[here, (t - 1) * dims : t * dims] = -gains[t]
    inverse = np.linalg.inv(recursion)
    return inverse @ noise @ inverse.T


def chain_of(mean: np.ndarray, covariance: np.ndarray, dims: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, gains and Cholesky factors of the conditionals of a dense joint Gaussian that is Markov."""
    steps = len(mean) // dims
    blocks = covariance.reshape(steps, dims, steps, dims).transpose(0, 2, 1, 3)
    gains, chols = np.zeros((steps, dims, dims)), np.zeros((steps, dims, dims))
    chols[0] = np.linalg.cholesky(blocks[0, 0])
    for t in range(1, steps):
        gains[t] = np.linalg.solve(blocks[t - 1, t - 1], blocks[t - 1, t]).T
        chols[t] = np.linalg.cholesky(blocks[t, t] - gains[t] @ blocks[t - 1, t])
    return mean.reshape(steps, dims), gains, chols
