"""Kernel hyper-parameters by bounded marginal likelihood, in plain NumPy.

The number of points grows from trial to trial; compiled code would be compiled anew each time, NumPy is not.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

# Allowed factors around the spread of the data. A signal-to-noise ratio beyond 500 would cost the matrices so many
# digits that moment matching loses its own.
_LENGTHSCALE_FACTOR = 100.0
_SIGNAL_FACTOR = 100.0
_MAX_SIGNAL_TO_NOISE = 500.0


class Hyperparameters(NamedTuple):
    """Standard deviations and lengthscales of E independent squared-exponential processes."""

    lengthscales: Float[np.ndarray, "E D"]
    signal_sd: Float[np.ndarray, " E"]
    noise_sd: Float[np.ndarray, " E"]


def squared_exponential(
    x: Float[np.ndarray, "N D"], z: Float[np.ndarray, "M D"], lengthscales: Float[np.ndarray, " D"], signal_sd: float
) -> Float[np.ndarray, "N M"]:
    """Kernel matrix between two sets of points."""
    x, z = x / lengthscales, z / lengthscales
    squared = (x**2).sum(1)[:, None] + (z**2).sum(1)[None, :] - 2.0 * x @ z.T
    return signal_sd**2 * np.exp(-0.5 * np.maximum(squared, 0.0))


def negative_log_evidence(
    log_params: Float[np.ndarray, " K"], x: Float[np.ndarray, "N D"], y: Float[np.ndarray, " N"]
) -> tuple[float, Float[np.ndarray, " K"]]:
    """Negative log marginal likelihood and its gradient.

    `log_params` holds the logarithms of the lengthscales, the signal standard deviation and the ratio of signal to
    noise. The ratio is a parameter because it alone decides how well conditioned the matrix is.
    """
    lengthscales, (signal, ratio) = np.exp(log_params[:-2]), np.exp(log_params[-2:])
    noise = signal / ratio
    kernel = squared_exponential(x, x, lengthscales, signal)
    factor = cho_factor(kernel + noise**2 * np.eye(len(y)), lower=True)
    weights = cho_solve(factor, y)
    inverse = cho_solve(factor, np.eye(len(y)))
    loss = 0.5 * y @ weights + np.log(np.diagonal(factor[0])).sum() + 0.5 * len(y) * np.log(2.0 * np.pi)

    slope = inverse - np.outer(weights, weights)
    product = slope * kernel
    # sum_ij product_ij (x_i - x_j)^2 / l^2, without forming the differences
    spread = 2.0 * (product.sum(1) @ x**2 - (x * (product @ x)).sum(0)) / lengthscales**2
    by_noise = noise**2 * np.trace(slope)
    return float(loss), np.concatenate([0.5 * spread, [product.sum() + by_noise, -by_noise]])


def fit_hyperparameters(
    x: Float[np.ndarray, "N D"], y: Float[np.ndarray, "N E"], *, max_iterations: int = 200
) -> Hyperparameters:
    """The best of two starts for every output, within bounds set by the spread of the data.

    One start explains a tenth of the spread as noise, the other a hundredth: from little data the first can end in the
    solution that calls everything noise.
    """
    best = []
    for target in y.T:
        level = max(float(target.std()), 1e-6)
        centre = np.log(np.append(np.maximum(x.std(0), 1e-3), level))
        reach = np.log(np.append(np.full(x.shape[1], _LENGTHSCALE_FACTOR), _SIGNAL_FACTOR))
        bounds = [*zip(centre - reach, centre + reach, strict=True), (0.0, np.log(_MAX_SIGNAL_TO_NOISE))]
        runs = [
            minimize(
                negative_log_evidence,
                np.append(centre, np.log(ratio)),
                args=(x, target),
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"maxiter": max_iterations},
            )
            for ratio in (10.0, 100.0)
        ]
        best.append(np.exp(min(runs, key=lambda run: run.fun).x))
    found = np.stack(best)
    return Hyperparameters(found[:, :-2], found[:, -2], found[:, -2] / found[:, -1])
