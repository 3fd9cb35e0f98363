"""The Kalman filter in NumPy, quick where nothing changes from step to step.

Covariances depend on which outputs were observed, not on their values. With complete records they settle after some
steps and need not be computed again; the means from there on are a chain with constant matrices, which needs no loop
over the steps. Records of which the same outputs were observed share everything but their means.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from gpssm.data import Episode
from gpssm.predict._chain import chain

SETTLED = 1e-12
"""A covariance that changes by less than this in a step, in units of its own variances, stays as it is."""
EVERY = 8
"""Steps after which that is looked at again: looking takes as long as a step."""
WORTH = 8
"""Steps from which on a chain is quicker than a loop."""


@dataclass(frozen=True)
class LinearSystem:
    """x[0] ~ N(m0, P0); x[t+1] = A x + B u + c + N(0, Q); y = C x + b + N(0, diag R)."""

    A: Float[np.ndarray, "D D"]
    B: Float[np.ndarray, "D P"]
    c: Float[np.ndarray, " D"]
    C: Float[np.ndarray, "O D"]
    b: Float[np.ndarray, " O"]
    Q: Float[np.ndarray, "D D"]
    R: Float[np.ndarray, " O"]
    m0: Float[np.ndarray, " D"]
    P0: Float[np.ndarray, "D D"]

    @property
    def order(self) -> int:
        """Number of states."""
        return len(self.c)


class Records(NamedTuple):
    """Records of one length of which the same outputs were observed, the last axis counting them."""

    y: Float[np.ndarray, "T O B"]
    """Zero where not observed."""
    u: Float[np.ndarray, "T P B"]
    observed: Bool[np.ndarray, "T O"]


def grouped(episodes: Iterable[Episode]) -> list[Records]:
    """Records that share their covariances, put together."""
    groups: dict[tuple[int, bytes], list[Episode]] = {}
    for episode in episodes:
        groups.setdefault((len(episode), episode.observed.tobytes()), []).append(episode)
    return [
        Records(np.stack([e.y for e in some], axis=2), np.stack([e.u for e in some], axis=2), some[0].observed)
        for some in groups.values()
    ]


class Gains(NamedTuple):
    """All of a filter that does not depend on what the outputs were, only on which were observed."""

    before: Float[np.ndarray, "T D D"]
    """Covariance of the state before each sample."""
    precision: Float[np.ndarray, "T O O"]
    """Inverse covariance of the outputs that are expected; zero for those not observed."""
    gain: Float[np.ndarray, "T D O"]
    """From what an output tells to where the next state is expected."""
    closed: Float[np.ndarray, "T D D"]
    """A - gain C: from one expected state to the next."""
    log_det: float
    """Sum over the steps of log |2 pi covariance of the outputs|."""
    settled: tuple[tuple[int, int], ...]
    """Stretches in which nothing changes."""


def gains(system: LinearSystem, observed: Bool[np.ndarray, "T O"]) -> Gains:
    """By the Joseph form, whose covariances stay covariances."""
    A, Q, steps, outputs, order = system.A, system.Q, *observed.shape, system.order
    before, closed = np.empty((steps, order, order)), np.empty((steps, order, order))
    precision, gain = np.zeros((steps, outputs, outputs)), np.empty((steps, order, outputs))
    same_until = _same_until(observed)
    log_det, settled, P, t, changed = observed.sum() * np.log(2.0 * np.pi), [], system.P0, 0, 0
    while t < steps:
        if t == changed:
            changed = same_until[t]
            C, Rs, weight = _read(system, observed[t])
        across = P @ C.T
        S = C @ across + Rs
        inverse, size = _inverse(S)
        inverse = inverse * weight
        K = A @ across @ inverse
        L = A - K @ C
        after = L @ P @ L.T + K @ Rs @ K.T + Q
        after = 0.5 * (after + after.T)
        stop = t + 1
        if t % EVERY == 0 and is_settled(after, P):
            stop = changed
            if stop - t > WORTH:
                settled.append((t, stop))
        before[t:stop], precision[t:stop], gain[t:stop], closed[t:stop] = P, inverse, K, L
        log_det += (stop - t) * size
        P, t = after, stop
    return Gains(before, precision, gain, closed, float(log_det), tuple(settled))


def _inverse(S: Float[np.ndarray, "O O"]) -> tuple[Float[np.ndarray, "O O"], float]:
    """Inverse and logarithm of the determinant of a covariance; NaN where noises have vanished or overflowed so that it
    is none: a search that tries such a step has to turn back."""
    if len(S) == 1:
        # Of one number no library need be asked.
        return (1.0 / S, math.log(S[0, 0])) if S[0, 0] > 0.0 else (np.full_like(S, np.nan), math.nan)
    sign, log_det = np.linalg.slogdet(S)
    return (np.linalg.inv(S), float(log_det)) if sign > 0.0 else (np.full_like(S, np.nan), math.nan)


def _read(
    system: LinearSystem, seen: Bool[np.ndarray, " O"]
) -> tuple[Float[np.ndarray, "O D"], Float[np.ndarray, "O O"], Float[np.ndarray, "O O"]]:
    """Matrix and noise with which outputs are read, and their weights: those that were not observed stand beside the
    others with variance 1 and no weight."""
    return (
        np.where(seen[:, None], system.C, 0.0),
        np.diag(np.where(seen, system.R, 1.0)),
        np.outer(seen, seen).astype(float),
    )


def is_settled(one: Float[np.ndarray, "D D"], other: Float[np.ndarray, "D D"]) -> bool:
    """Whether two symmetric matrices are the same but for rounding, in units of the roots of their diagonals."""
    scale = np.sqrt(np.abs(one.diagonal()))
    return bool((np.abs(one - other) <= SETTLED * scale[:, None] * scale).all())


def _same_until(observed: Bool[np.ndarray, "T O"]) -> list[int]:
    """For each step the end of the stretch in which the same outputs are observed as at it."""
    changes = np.flatnonzero((observed[1:] != observed[:-1]).any(axis=1)) + 1
    ends = np.append(changes, len(observed))
    return np.repeat(ends, np.diff(np.concatenate([[0], ends]))).tolist()


class Expected(NamedTuple):
    """What a filter expects of records before it reads each sample."""

    states: Float[np.ndarray, "T D B"]
    surprises: Float[np.ndarray, "T O B"]
    """Outputs less what was expected of them; zero where not observed."""
    log_evidence: float


def expected(system: LinearSystem, found: Gains, records: Records) -> Expected:
    """The means, given the gains."""
    seen = records.observed[:, :, None]
    told = np.where(seen, records.y - system.b[:, None], 0.0)
    led = found.gain @ told + system.B @ records.u + system.c[:, None]
    states = np.empty((len(told) + 1, system.order, told.shape[2]))
    states[0] = system.m0[:, None]
    t, stretches = 0, dict(found.settled)
    while t < len(told):
        stop = stretches.get(t, t)
        if stop > t:
            driven = led[t:stop].copy()
            driven[0] += found.closed[t] @ states[t]
            states[t + 1 : stop + 1] = chain(found.closed[t], driven)
            t = stop
        else:
            states[t + 1] = found.closed[t] @ states[t] + led[t]
            t += 1
    states = states[:-1]
    surprises = np.where(seen, told - system.C @ states, 0.0)
    weighted = np.einsum("tob,top,tpb->", surprises, found.precision, surprises)
    return Expected(states, surprises, -0.5 * float(weighted + told.shape[2] * found.log_det))


class Filtered(NamedTuple):
    """What a Kalman filter knows after each sample."""

    means: Float[np.ndarray, "T D"]
    covariances: Float[np.ndarray, "T D D"]
    log_evidence: float


def kalman(
    system: LinearSystem,
    y: Float[np.ndarray, "T O"],
    u: Float[np.ndarray, "T P"],
    observed: Bool[np.ndarray, "T O"],
) -> Filtered:
    """The Kalman filter over one record; missing outputs are left out."""
    found = gains(system, observed)
    ahead = expected(system, found, Records(y[:, :, None], u[:, :, None], observed))
    across = found.before @ np.where(observed[:, :, None], system.C, 0.0).transpose(0, 2, 1)
    K = across @ found.precision
    means = ahead.states[:, :, 0] + (K @ ahead.surprises)[:, :, 0]
    # As in the Joseph form, a covariance whatever the rounding.
    left = np.eye(system.order) - K @ np.where(observed[:, :, None], system.C, 0.0)
    covariances = left @ found.before @ left.transpose(0, 2, 1) + (K * system.R) @ K.transpose(0, 2, 1)
    return Filtered(means, covariances, ahead.log_evidence)
