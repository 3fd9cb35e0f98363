"""Evidence of a linear-Gaussian system and its exact gradient, by the Kalman filter and a pass from behind.

The gradient is that of the textbook (Koopman and Shephard 1992, Durbin and Koopman 2012, section 7.3.3): r and N carry
what later outputs say about the state, and sums over them are the derivatives. Nothing is differentiated by a machine,
nothing compiled, and no noise is divided by, so that noises may vanish.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from gpssm.predict._chain import chain
from gpssm.predict._kalman import EVERY, Expected, Gains, LinearSystem, Records, expected, gains, is_settled


class Score(NamedTuple):
    """Derivatives of a scalar by the parts of a linear system."""

    A: Float[np.ndarray, "D D"]
    B: Float[np.ndarray, "D P"]
    c: Float[np.ndarray, " D"]
    C: Float[np.ndarray, "O D"]
    b: Float[np.ndarray, " O"]
    Q: Float[np.ndarray, " D"]
    """By the variances of a diagonal Q."""
    R: Float[np.ndarray, " O"]

    def plus(self, other: "Score", share: float = 1.0) -> "Score":
        """The sum with a share of another."""
        return Score(*(mine + share * theirs for mine, theirs in zip(self, other, strict=True)))


def no_score(system: LinearSystem) -> Score:
    """Zeros."""
    shaped = (system.A, system.B, system.c, system.C, system.b, np.diagonal(system.Q), system.R)
    return Score(*(np.zeros_like(part) for part in shaped))


def evidence_and_score(system: LinearSystem, groups: list[Records]) -> tuple[float, Score]:
    """Log-evidence of all records, and its derivatives."""
    value, total = 0.0, no_score(system)
    for records in groups:
        found = gains(system, records.observed)
        ahead = expected(system, found, records)
        value += ahead.log_evidence
        total = total.plus(_score(system, records, found, ahead))
    return value, total


def evidence(system: LinearSystem, groups: list[Records]) -> float:
    """Log-evidence of all records."""
    return sum(expected(system, gains(system, records.observed), records).log_evidence for records in groups)


def _score(system: LinearSystem, records: Records, found: Gains, ahead: Expected) -> Score:
    C = np.where(records.observed[:, :, None], system.C, 0.0)
    weighted = found.precision @ ahead.surprises
    r, N = _from_behind(found, C, weighted)
    later_r, later_N, count = r[1:], N[1:], records.y.shape[2]
    gain_t = found.gain.transpose(0, 2, 1)
    # Of state noise, of measurement noise, and of the states themselves, given everything.
    noise = weighted - gain_t @ later_r
    states = ahead.states + found.before @ r[:-1]
    carried = later_N @ found.closed @ found.before
    read = found.precision @ C @ found.before - gain_t @ carried
    spread = found.precision + gain_t @ later_N @ found.gain
    return Score(
        A=np.einsum("tib,tjb->ij", later_r, states) - count * carried.sum(axis=0),
        B=np.einsum("tib,tjb->ij", later_r, records.u),
        c=later_r.sum(axis=(0, 2)),
        C=np.einsum("tib,tjb->ij", noise, states) - count * read.sum(axis=0),
        b=noise.sum(axis=(0, 2)),
        Q=0.5 * ((later_r**2).sum(axis=(0, 2)) - count * np.einsum("tii->i", later_N)),
        R=0.5 * ((noise**2).sum(axis=(0, 2)) - count * np.einsum("tii->i", spread)),
    )


def _from_behind(
    found: Gains, C: Float[np.ndarray, "T O D"], weighted: Float[np.ndarray, "T O B"]
) -> tuple[Float[np.ndarray, "_ D B"], Float[np.ndarray, "_ D D"]]:
    """r[t] and N[t]: what the outputs from step t on say about the state at t, beyond what was known before them."""
    steps, order = len(C), C.shape[2]
    C_t, closed_t = C.transpose(0, 2, 1), found.closed.transpose(0, 2, 1)
    told, known = C_t @ weighted, C_t @ found.precision @ C
    r, N = np.zeros((steps + 1, order, weighted.shape[2])), np.zeros((steps + 1, order, order))
    begins, t = {stop: start for start, stop in found.settled}, steps
    while t > 0:
        start = begins.get(t, t)
        if start < t:
            driven = told[start:t][::-1].copy()
            driven[0] += closed_t[start] @ r[t]
            r[start:t] = chain(closed_t[start], driven)[::-1]
        else:
            start = t - 1
            r[start] = told[start] + closed_t[start] @ r[t]
        _fill(N, start, t, known[start], found.closed[start], closed_t[start])
        t = start
    return r, N


def _fill(
    N: Float[np.ndarray, "_ D D"],
    start: int,
    stop: int,
    known: Float[np.ndarray, "D D"],
    closed: Float[np.ndarray, "D D"],
    closed_t: Float[np.ndarray, "D D"],
) -> None:
    """N from `stop` back to `start`, where nothing changes, until it does not change either."""
    for t in range(stop - 1, start - 1, -1):
        N[t] = known + closed_t @ N[t + 1] @ closed
        if t % EVERY == 0 and t > start and is_settled(N[t], N[t + 1]):
            N[start:t] = N[t]
            return
