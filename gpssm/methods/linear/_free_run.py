"""How likely outputs are in a free run of a linear system that reads none of them, and the exact gradient of that."""

import numpy as np
from jaxtyping import Float

from gpssm.methods.linear._score import Score, no_score
from gpssm.predict._chain import chain
from gpssm.predict._kalman import LinearSystem, Records


def free_run_and_score(system: LinearSystem, groups: list[Records]) -> tuple[float, Score]:
    """Sum over records and observed outputs of log p(y[t] | inputs before t), with its derivatives; x[0] ~ N(0, I)."""
    covariances = _covariances(system, max(len(records.y) for records in groups))
    variances = np.einsum("od,tde,oe->to", system.C, covariances, system.C) + system.R
    value, total = 0.0, no_score(system)
    by_variance = np.zeros_like(variances)
    for records in groups:
        steps, count = len(records.y), records.y.shape[2]
        led = np.zeros((steps, system.order, count))
        led[1:] = system.B @ records.u[:-1] + system.c[:, None]
        states = chain(system.A, led)
        seen, spread = records.observed[:, :, None], variances[:steps, :, None]
        missed = np.where(seen, records.y - system.C @ states - system.b[:, None], 0.0)
        value -= 0.5 * float((np.where(seen, np.log(2.0 * np.pi * spread), 0.0) + missed**2 / spread).sum())
        by_variance[:steps] += 0.5 * np.where(seen, missed**2 / spread**2 - 1.0 / spread, 0.0).sum(axis=2)
        by_output = missed / spread
        later = _from_behind(system.A.T, system.C.T @ by_output)[1:]
        total = total.plus(
            no_score(system)._replace(
                A=np.einsum("tib,tjb->ij", later, states[:-1]),
                B=np.einsum("tib,tjb->ij", later, records.u[:-1]),
                c=later.sum(axis=(0, 2)),
                C=np.einsum("tib,tjb->ij", by_output, states),
                b=by_output.sum(axis=(0, 2)),
            )
        )
    return value, total.plus(_by_covariances(system, covariances, by_variance))


def _covariances(system: LinearSystem, steps: int) -> Float[np.ndarray, "T D D"]:
    """Of the state at each step, which inputs do not change."""
    order = system.order
    led = np.broadcast_to(system.Q.ravel(), (steps, order**2)).copy()
    led[0] = np.eye(order).ravel()
    return chain(np.kron(system.A, system.A), led).reshape(steps, order, order)


def _by_covariances(
    system: LinearSystem, covariances: Float[np.ndarray, "T D D"], by_variance: Float[np.ndarray, "T O"]
) -> Score:
    order = system.order
    told = np.einsum("od,to,oe->tde", system.C, by_variance, system.C).reshape(-1, order**2)
    later = _from_behind(np.kron(system.A, system.A).T, told)[1:].reshape(-1, order, order)
    return no_score(system)._replace(
        A=2.0 * np.einsum("tij,jk,tkl->il", later, system.A, covariances[:-1]),
        C=2.0 * np.einsum("to,od,tde->oe", by_variance, system.C, covariances),
        Q=np.einsum("tii->i", later),
        R=by_variance.sum(axis=0),
    )


def _from_behind(matrix: Float[np.ndarray, "D D"], told: Float[np.ndarray, "T D *B"]) -> Float[np.ndarray, "T D *B"]:
    """What steps from t on say about the state at t."""
    return chain(matrix, told[::-1])[::-1]
