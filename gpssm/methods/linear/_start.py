"""First linear models from regressions: where the search for the most likely one starts.

All candidates come from a guess of the states followed by least squares. The guesses are subspace identification
(the directions of the past that predict the future best, with the outputs to come weighted by what is unpredictable
about them), at several window lengths; the directions that start a GPSSM; and the autoregression of the same order,
which is a state-space model without measurement noise.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from gpssm.data import Episodes
from gpssm.models._subspace import interpolated, subspace_states
from gpssm.predict import LinearSystem

RIDGE = 1e-6
FLOOR = 1e-4
"""Smallest noise variance to start from, in units of the scaled outputs."""
NOISY = 0.3
"""Variance of the measurement noise, in units of the scaled outputs, of starts that have much of it."""
LIVELY = 1e-2
"""Least variance of the process noise of starts that have much of that, in standardised coordinates."""

Records = list[tuple[np.ndarray, np.ndarray]]
"""Outputs (without gaps) and inputs of each episode."""


def standardised(system: LinearSystem) -> LinearSystem:
    """The same system in coordinates in which x[0] ~ N(0, I) and Q is diagonal. They always exist."""
    root = np.linalg.cholesky(system.P0)
    inverse = np.linalg.inv(root)
    variances, rotation = np.linalg.eigh(inverse @ system.Q @ inverse.T)
    back, forth = root @ rotation, rotation.T @ inverse
    return LinearSystem(
        A=forth @ system.A @ back,
        B=forth @ system.B,
        c=forth @ (system.c + system.A @ system.m0 - system.m0),
        C=system.C @ back,
        b=system.b + system.C @ system.m0,
        Q=np.diag(np.maximum(variances, FLOOR)),
        R=system.R,
        m0=np.zeros_like(system.m0),
        P0=np.eye(len(system.m0)),
    )


def linear_starts(scaled: Episodes, order: int, *, max_radius: float) -> list[LinearSystem]:
    """Candidates, all with a spectral radius of at most `max_radius`, in standardised coordinates."""
    records = [(interpolated(episode), episode.u) for episode in scaled]
    outputs = scaled.num_outputs
    systems = []
    if min(len(y) for y, _ in records) > 1:
        systems.append(_from_states(subspace_states(scaled, order), records))
    blocks = -(-order // outputs)
    for window in sorted({blocks + 1, 2 * blocks + 2, max(10, blocks + 1)}):
        states = _subspace_states(records, order, window)
        if states is not None:
            systems.append(_from_states(states, [(y[window:], u[window:]) for y, u in records if len(y) > window + 1]))
    if order % outputs == 0:
        autoregression = _autoregression(records, blocks)
        systems += [] if autoregression is None else [autoregression]
    return [standardised(_stable(system, max_radius)) for system in systems]


def of_other_kinds(starts: list[LinearSystem]) -> list[LinearSystem]:
    """The same with more noise of the sensors, and with more of the system: what a regression takes for the one may be
    the other, and a search that starts with none of it does not find it."""
    noisy = [replace(s, R=np.maximum(s.R, NOISY), Q=0.1 * s.Q) for s in starts]
    lively = [replace(s, R=0.1 * s.R, Q=3.0 * s.Q + LIVELY * np.eye(s.order)) for s in starts]
    return [*starts, *noisy, *lively]


def _from_states(states: list[np.ndarray], records: Records) -> LinearSystem:
    """Least squares for the matrices, given states; residuals give the noises."""
    pairs = list(zip(states, records, strict=True))
    regressors = np.concatenate([_with_one(x[:-1], u[:-1]) for x, (_, u) in pairs])
    following = np.concatenate([x[1:] for x in states])
    joined = np.concatenate(states)
    measured = np.concatenate([y for _, (y, _) in pairs])
    moves, reads = _ridge(regressors, following), _ridge(_with_one(joined), measured)
    order = joined.shape[1]
    left, missed = following - regressors @ moves, measured - _with_one(joined) @ reads
    size = len(joined)
    return LinearSystem(
        A=moves[:order].T,
        B=moves[order:-1].T,
        c=moves[-1],
        C=reads[:-1].T,
        b=reads[-1],
        Q=left.T @ left / size + FLOOR * np.eye(order),
        R=np.maximum((missed**2).mean(axis=0), FLOOR),
        m0=np.mean([x[0] for x in states], axis=0),
        P0=_covariance(joined),
    )


def _subspace_states(records: Records, order: int, window: int) -> list[np.ndarray] | None:
    """States as the directions of the past `window` samples that say most about the next ones; None for short data."""
    long = [(y, u) for y, u in records if len(y) > window + 1]
    parts = [_past_and_future(y, u, window) for y, u in long if len(y) >= 2 * window]
    if not parts:
        return None
    past, future, inputs = (np.concatenate(blocks) for blocks in zip(*parts, strict=True))
    if len(past) < past.shape[1] + inputs.shape[1] + 2 or order > min(past.shape[1], future.shape[1]):
        return None
    both = _ridge(np.concatenate([past, _with_one(inputs)], axis=1), future)
    weights = both[: past.shape[1]]
    unexplained = future - np.concatenate([past, _with_one(inputs)], axis=1) @ both
    root = np.linalg.cholesky(unexplained.T @ unexplained / len(past) + FLOOR * np.eye(future.shape[1]))
    predicted = (past - past.mean(axis=0)) @ weights @ np.linalg.inv(root).T
    _, singular, directions = np.linalg.svd(predicted, full_matrices=False)
    scale = np.maximum(singular[:order], 1e-8 * singular[0] + 1e-12) / np.sqrt(len(past))
    mapping = weights @ np.linalg.inv(root).T @ directions[:order].T / scale
    return [_windows(y, u, window)[0] @ mapping for y, u in long]


def _windows(y: np.ndarray, u: np.ndarray, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Past of every step from `window` on, newest sample first, and those steps."""
    steps = np.arange(window, len(y))
    back = steps[:, None] - np.arange(1, window + 1)[None, :]
    return np.concatenate([y[back].reshape(len(steps), -1), u[back].reshape(len(steps), -1)], axis=1), steps


def _past_and_future(y: np.ndarray, u: np.ndarray, window: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    past, steps = _windows(y, u, window)
    complete = steps + window <= len(y)
    ahead = steps[complete][:, None] + np.arange(window)[None, :]
    count = complete.sum()
    # The last of these inputs acts after the last of these outputs.
    return past[complete], y[ahead].reshape(count, -1), u[ahead[:, :-1]].reshape(count, -1)


def _autoregression(records: Records, lags: int) -> LinearSystem | None:
    """y[t+1] = sum_i a_i y[t-i] + b_i u[t-i] + offset + e, realised with the output itself as the first state."""
    long = [(y, u) for y, u in records if len(y) > lags]
    if not long:
        return None
    regressors = np.concatenate([_with_one(_windows(y, u, lags)[0]) for y, u in long])
    targets = np.concatenate([y[lags:] for y, _ in long])
    if len(targets) < regressors.shape[1] + 2:
        return None
    found = _ridge(regressors, targets)
    outputs, inputs = targets.shape[1], long[0][1].shape[1]
    order = lags * outputs
    by_output = found[:order].reshape(lags, outputs, outputs)
    by_input = found[order:-1].reshape(lags, inputs, outputs)
    A = np.zeros((order, order))
    A[:, :outputs] = np.concatenate([block.T for block in by_output])
    A[:-outputs, outputs:] += np.eye(order - outputs)
    residual = targets - regressors @ found
    innovation = residual.T @ residual / len(targets)
    Q = FLOOR * np.eye(order)
    Q[:outputs, :outputs] += innovation
    # Later states are sums of past samples; their spread follows from the coefficients.
    spread = np.abs(A[:, :outputs]).sum(axis=1) ** 2 + 0.1
    spread[:outputs] = 1.0
    return LinearSystem(
        A=A,
        B=np.concatenate([block.T for block in by_input]),
        c=np.concatenate([found[-1], np.zeros(order - outputs)]),
        C=np.eye(outputs, order),
        b=np.zeros(outputs),
        Q=Q,
        R=np.maximum(0.05 * np.diagonal(innovation), FLOOR),
        m0=np.zeros(order),
        P0=np.diag(spread),
    )


def _stable(system: LinearSystem, max_radius: float) -> LinearSystem:
    return replace(system, A=shrunk(system.A, max_radius))


def shrunk(A: Float[np.ndarray, "D D"], max_radius: float) -> Float[np.ndarray, "D D"]:
    """The matrix scaled down, where needed, to a spectral radius of `max_radius`."""
    radius = spectral_radius(A)
    return A * (max_radius / radius) if radius > max_radius else A


def spectral_radius(A: Float[np.ndarray, "D D"]) -> float:
    """Largest absolute eigenvalue."""
    return float(np.abs(np.linalg.eigvals(A)).max())


def _covariance(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=0)
    return centred.T @ centred / len(x) + 1e-3 * np.eye(x.shape[1])


def _with_one(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate([*parts, np.ones((len(parts[0]), 1))], axis=1)


def _ridge(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.linalg.solve(x.T @ x + RIDGE * len(x) * np.eye(x.shape[1]), x.T @ y)
