"""A linear system improved where free runs need it: how inputs act, by least squares on whole runs, and its noises."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from gpssm.data import Episode
from gpssm.methods.linear._score import evidence
from gpssm.predict import LinearSystem
from gpssm.predict._chain import chain
from gpssm.predict._kalman import grouped, kalman

DOUBT = 1e-3
"""Ridge, in units of the scaled outputs, on first states and on how inputs act."""
CONTEXT = 20
"""Samples that are read before a free run."""
FACTORS = tuple(2.0**power for power in range(9))
"""For process noise, of which the best is taken."""
GAIN = 0.1
"""Nats a sample that more process noise must gain."""
LOOKED_AT = 400
"""Steps from which noises are found: more of them change little and take longer."""


def with_inputs_refitted(system: LinearSystem, records: Sequence[Episode]) -> LinearSystem:
    """B, c and b by least squares on free runs, given A and C, each record from a first state of its own.

    A free run is linear in all of them. Regressions of single steps, from which the system comes, see slow motion only
    through small differences; whole runs see what it adds up to.
    """
    return _refitted(system, records, direct=False)[0]


def with_direct_refitted(
    system: LinearSystem, records: Sequence[Episode]
) -> tuple[LinearSystem, Float[np.ndarray, "O P"]]:
    """The same with a direct term D, in which a free run is linear as well."""
    return _refitted(system, records, direct=True)


def _refitted(
    system: LinearSystem, records: Sequence[Episode], *, direct: bool
) -> tuple[LinearSystem, Float[np.ndarray, "O P"]]:
    order, inputs = system.B.shape
    outputs = len(system.b)
    size = order * inputs + order + outputs + direct * outputs * inputs
    gram, moment = DOUBT * np.eye(size), np.zeros(size)
    for record in records:
        rows, by_start = _responses(system, record, direct)
        seen = record.observed.ravel()
        rows, by_start, y = rows[seen], by_start[seen], record.y.ravel()[seen]
        # The first state is nobody else's: what it can explain is taken out of everything.
        inner = np.linalg.inv(by_start.T @ by_start + DOUBT * np.eye(order))
        crossed = by_start.T @ rows
        gram += rows.T @ rows - crossed.T @ inner @ crossed
        moment += rows.T @ y - crossed.T @ (inner @ (by_start.T @ y))
    found = np.linalg.solve(0.5 * (gram + gram.T), moment)
    by_input, c, b, term = np.split(found, np.cumsum([order * inputs, order, outputs]))
    refitted = replace(system, B=by_input.reshape(inputs, order).T, c=c, b=b)
    return refitted, term.reshape(inputs, outputs).T if direct else np.zeros((outputs, inputs))


def _responses(
    system: LinearSystem, record: Episode, direct: bool
) -> tuple[Float[np.ndarray, "N K"], Float[np.ndarray, "N D"]]:
    """How the outputs of a free run depend on (B, c, b) and a direct term, and on the first state."""
    order, inputs = system.B.shape
    steps, outputs, eye = len(record), len(system.b), np.eye(order)
    acting = np.concatenate([record.u[:-1], np.ones((steps - 1, 1))], axis=1)
    driven = np.zeros((steps, order, (inputs + 1) * order))
    driven[1:] = np.einsum("tp,de->tdpe", acting, eye).reshape(steps - 1, order, -1)
    first = np.zeros((steps, order, order))
    first[0] = eye
    parts = [system.C @ chain(system.A, driven), np.broadcast_to(np.eye(outputs), (steps, outputs, outputs))]
    if direct:
        parts.append(np.einsum("tp,oq->topq", record.u, np.eye(outputs)).reshape(steps, outputs, -1))
    rows = np.concatenate(parts, axis=2)
    return rows.reshape(steps * outputs, -1), (system.C @ chain(system.A, first)).reshape(steps * outputs, order)


def free_run_error(system: LinearSystem, records: Sequence[Episode]) -> float:
    """Mean squared miss of free runs after the first samples of each record; infinite if a run explodes."""
    squares, count = 0.0, 0
    for record in records:
        n_init, start, _ = _start(system, record)
        driven = record.u[n_init - 1 : -1] @ system.B.T + system.c
        driven[0] += system.A @ start
        missed = record.y[n_init:] - chain(system.A, driven) @ system.C.T - system.b
        seen = record.observed[n_init:]
        squares += float((missed[seen] ** 2).sum())
        count += int(seen.sum())
    return squares / count if count and np.isfinite(squares) else np.inf


def with_noises_found(system: LinearSystem, records: Sequence[Episode]) -> LinearSystem:
    """Process and measurement noise scaled so that single steps and free runs together are most likely.

    Single steps alone would not tell how far the model itself goes astray in a long run.
    """
    short = [record[: min(len(record), LOOKED_AT)] for record in records]
    kept: list[Episode] = []
    for record in short:
        if sum(map(len, kept)) < LOOKED_AT:
            kept.append(record)

    def scaled(logs: Float[np.ndarray, " 3"]) -> LinearSystem:
        q, r, disturbed = np.exp(np.clip(logs, -12.0, 6.0))
        # Disturbances of all states, in units of what they vary by: what no linear model explains.
        noise = q * system.Q + disturbed * 1e-3 * system.P0
        return replace(system, Q=noise, R=np.maximum(r * system.R, 1e-8))

    def loss(logs: Float[np.ndarray, " 3"]) -> float:
        tried = scaled(logs)
        value = -sum(_log_densities(tried, record) for record in kept)
        return value + 1e-3 * float(logs @ logs) if np.isfinite(value) else 1e12

    from scipy.optimize import minimize

    with np.errstate(all="ignore"):
        # Noises of regressions may be wrong by orders of magnitude: the first steps are large.
        corners = np.array([0.0, 0.0, -3.0]) + np.concatenate([np.zeros((1, 3)), np.diag([-2.0, 2.0, 4.0])])
        options = {"maxfev": 70, "xatol": 0.05, "fatol": 0.1, "initial_simplex": corners}
        found = minimize(loss, corners[0], method="Nelder-Mead", options=options)
    return scaled(found.x)


def noise_factor(system: LinearSystem, records: Sequence[Episode]) -> float:
    """How many times the process noise makes single steps and free runs over records that the system has not seen most
    likely together: what it misses there is more than what it missed where it was fitted. Never less noise, and as it
    is where more would gain little: noise also makes the filter trust the model less."""
    with np.errstate(all="ignore"):
        tried = {
            factor: sum(_log_densities(replace(system, Q=factor * system.Q), record) for record in records)
            for factor in FACTORS
        }
    finite = {factor: value for factor, value in tried.items() if np.isfinite(value)}
    best = max(finite, key=lambda factor: finite[factor], default=1.0)
    count = sum(int(record.observed.sum()) for record in records)
    # Where the noise as it is explains nothing at all, any other is a gain.
    return best if finite.get(best, 0.0) > finite.get(1.0, -np.inf) + GAIN * count else 1.0


def _log_densities(system: LinearSystem, record: Episode) -> float:
    n_init, missed, variances = _free_run(system, record)
    seen = record.observed[n_init:]
    free = -0.5 * (np.log(2.0 * np.pi * variances) + missed**2 / variances)
    return 0.5 * (evidence(system, grouped([record])) + float(free[seen].sum()))


def _start(system: LinearSystem, record: Episode) -> tuple[int, Float[np.ndarray, " D"], Float[np.ndarray, "D D"]]:
    """Where a free run begins, and what is known of the state just before."""
    n_init = min(CONTEXT, max(1, len(record) // 5))
    head = record[:n_init]
    known = kalman(system, head.y, head.u, head.observed)
    return n_init, known.means[-1], known.covariances[-1]


def _free_run(system: LinearSystem, record: Episode) -> tuple[int, Float[np.ndarray, "S O"], Float[np.ndarray, "S O"]]:
    """Where a free run begins, what it misses, and the variances that it gives."""
    n_init, mean, covariance = _start(system, record)
    driven = record.u[n_init - 1 : -1] @ system.B.T + system.c
    driven[0] += system.A @ mean
    missed = record.y[n_init:] - chain(system.A, driven) @ system.C.T - system.b
    order = system.order
    spread = np.broadcast_to(system.Q.ravel(), (len(driven), order**2)).copy()
    spread[0] += (system.A @ covariance @ system.A.T).ravel()
    covariances = chain(np.kron(system.A, system.A), spread).reshape(-1, order, order)
    return n_init, missed, np.einsum("od,tde,oe->to", system.C, covariances, system.C) + system.R
