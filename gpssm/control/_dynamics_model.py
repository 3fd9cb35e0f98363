"""The planning model: Gaussian processes on state differences, of a fixed size however much data there is."""

from dataclasses import dataclass
from typing import final

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve

from gpssm.control._gp import ConditionedGP
from gpssm.control._hyperparameters import Hyperparameters, fit_hyperparameters, squared_exponential

# Relative to the signal variance; it bounds the size of the weights, and with it the rounding error of predictions.
_JITTER = 1e-6


@final
@dataclass(frozen=True)
class DynamicsModel:
    """Predicts the change of state; `noise_sd` is what the fit attributes to measurement."""

    gp: ConditionedGP
    hyperparameters: Hyperparameters


def fit_dynamics(
    inputs: Float[np.ndarray, "N D"],
    changes: Float[np.ndarray, "N E"],
    *,
    num_points: int,
    max_fit_points: int = 300,
) -> DynamicsModel:
    """Fit hyper-parameters and condition on all data through at most `num_points` support points.

    Must be called with 64-bit arithmetic switched on.
    """
    stride = -(-len(inputs) // max_fit_points)
    hyper = fit_hyperparameters(inputs[::stride], changes[::stride])
    return DynamicsModel(condition(inputs, changes, hyper, num_points=num_points), hyper)


def condition(
    inputs: Float[np.ndarray, "N D"],
    targets: Float[np.ndarray, "N E"],
    hyper: Hyperparameters,
    *,
    num_points: int,
) -> ConditionedGP:
    """Exact conditioning while the data fit into `num_points`; beyond that, the variational sparse approximation.

    The result always has exactly `num_points` points, padded with points of no effect.
    """
    if len(inputs) <= num_points:
        support, pieces = inputs, [_exact(inputs, y, *one) for y, one in zip(targets.T, _each(hyper), strict=True)]
    else:
        support = inputs[select_support(inputs, hyper, count=num_points)]
        pieces = [_sparse(inputs, y, support, *one) for y, one in zip(targets.T, _each(hyper), strict=True)]
    pad = num_points - len(support)
    return ConditionedGP(
        inputs=jnp.asarray(np.pad(support, ((0, pad), (0, 0)))),
        lengthscales=jnp.asarray(hyper.lengthscales),
        signal_variance=jnp.asarray(hyper.signal_sd**2),
        weights=jnp.asarray(np.stack([np.pad(w, (0, pad)) for w, _ in pieces])),
        reductions=jnp.asarray(np.stack([np.pad(r, ((0, pad), (0, pad))) for _, r in pieces])),
        spare=jnp.asarray(hyper.signal_sd**2),
    )


def select_support(inputs: Float[np.ndarray, "N D"], hyper: Hyperparameters, *, count: int) -> np.ndarray:
    """Indices of points chosen one by one so that together they leave the least uncertainty at all inputs.

    The sum over the inputs is what matters: picking the most uncertain input each time would spend the points on
    outliers, such as a pendulum that spins out of control, and leave none for where the trials mostly are.
    """
    # Residual kernel matrices in units of the signal variance.
    residual = np.stack([squared_exponential(inputs, inputs, lengthscales, 1.0) for lengthscales in hyper.lengthscales])
    chosen = np.zeros(count, dtype=int)
    for k in range(count):
        left = np.diagonal(residual, axis1=1, axis2=2)
        explained = np.einsum("eij,eij->ej", residual, residual) / np.maximum(left, _JITTER)
        score = np.where(left > _JITTER, explained, 0.0).sum(0)
        score[chosen[:k]] = -np.inf
        pick = chosen[k] = int(np.argmax(score))
        column = residual[:, :, pick]
        scale = np.maximum(column[:, pick], _JITTER)
        residual = residual - column[:, :, None] * column[:, None, :] / scale[:, None, None]
    return chosen


def _each(hyper: Hyperparameters) -> list[tuple[np.ndarray, float, float]]:
    rows = zip(hyper.lengthscales, hyper.signal_sd, hyper.noise_sd, strict=True)
    return [(lengthscales, float(signal), float(noise)) for lengthscales, signal, noise in rows]


def _exact(x: np.ndarray, y: np.ndarray, lengthscales: np.ndarray, signal: float, noise: float):
    kernel = squared_exponential(x, x, lengthscales, signal)
    factor = cho_factor(kernel + noise**2 * np.eye(len(x)), lower=True)
    return cho_solve(factor, y), cho_solve(factor, np.eye(len(x)))


def _sparse(x: np.ndarray, y: np.ndarray, z: np.ndarray, lengthscales: np.ndarray, signal: float, noise: float):
    prior = squared_exponential(z, z, lengthscales, signal) + _JITTER * signal**2 * np.eye(len(z))
    cross = squared_exponential(z, x, lengthscales, signal)
    prior_factor = cho_factor(prior, lower=True)
    posterior_factor = cho_factor(prior + cross @ cross.T / noise**2, lower=True)
    weights = cho_solve(posterior_factor, cross @ y) / noise**2
    unit = np.eye(len(z))
    return weights, cho_solve(prior_factor, unit) - cho_solve(posterior_factor, unit)
