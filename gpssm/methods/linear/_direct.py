"""The direct input term: what inputs add to outputs within the same step.

First from an autoregression that also sees the input of its own step, then, with that taken off the outputs, by least
squares on the free runs of linear models, which are linear in it.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from gpssm.data import Episode
from gpssm.data._episodes import part_of
from gpssm.methods.linear._simulated import free_run_error, with_direct_refitted, with_inputs_refitted
from gpssm.methods.linear._start import linear_starts
from gpssm.models._subspace import interpolated
from gpssm.predict import LinearSystem

RADIUS = 0.9995
"""Largest absolute eigenvalue: free runs of regressions on noisy data explode otherwise."""
LAGS = 12
"""Of the autoregression: enough to leave the input of the step itself nothing that earlier samples explain."""
ORDERS = (2, 4)
"""Of the linear models whose free runs refine the term, unless others are asked for."""
RIDGE = 1e-6

Term = Float[np.ndarray, "O P"]


class Found(NamedTuple):
    """A linear system and the mean squared error of its free runs."""

    error: float
    system: LinearSystem
    direct: Term
    """To be added to the term that the records have been freed of."""


def best_system(records: list[Episode], judged: list[Episode], order: int, *, direct: bool = False) -> Found | None:
    """Of the systems that several regressions give, as they are and with inputs refitted, the one whose free runs over
    `judged` are closest."""
    trials = []
    with np.errstate(all="ignore"):
        for start in linear_starts(part_of(records), order, max_radius=RADIUS):
            none = np.zeros((len(start.b), start.B.shape[1]))
            systems = [(start, none)]
            with suppress(np.linalg.LinAlgError):
                systems.append((with_inputs_refitted(start, records), none))
                if direct:
                    systems.append(with_direct_refitted(start, records))
            for system, term in systems:
                trials.append(Found(free_run_error(system, freed_of(term, judged)), system, term))
    finite = [trial for trial in trials if np.isfinite(trial.error)]
    return min(finite, key=lambda trial: trial.error) if finite else None


def direct_term(records: list[Episode], orders: Sequence[int] = ORDERS) -> Term:
    """The direct term that the records show, in their units."""
    first = _seen_by_autoregression(records)
    left = freed_of(first, records)
    found = [best_system(left, left, order, direct=True) for order in orders]
    trials = [trial for trial in found if trial is not None]
    return first + min(trials, key=lambda trial: trial.error).direct if trials else first


def freed_of(term: Term, records: list[Episode]) -> list[Episode]:
    """The records without what a direct term adds to their outputs."""
    if not term.any():
        return records
    return [record._replace(y=np.where(record.observed, record.y - record.u @ term.T, 0.0)) for record in records]


def _seen_by_autoregression(records: list[Episode]) -> Term:
    """The coefficient of the input of its own step in a regression of the output on all samples before and on it."""
    outputs, inputs = records[0].num_outputs, records[0].num_inputs
    steps = sum(len(record) for record in records)
    lags = max(1, min(LAGS, steps // (4 * (outputs + inputs)), min(map(len, records)) - 1))
    rows, targets = [], []
    for record in records:
        y, now = interpolated(record), np.arange(lags, len(record))
        past = [part[now - lag] for lag in range(1, lags + 1) for part in (y, record.u)]
        seen = record.observed[now].all(axis=1)
        rows.append(np.concatenate([record.u[now], *past, np.ones((len(now), 1))], axis=1)[seen])
        targets.append(y[now][seen])
    x, y = np.concatenate(rows), np.concatenate(targets)
    found = np.linalg.solve(x.T @ x + RIDGE * (len(x) + 1) * np.eye(x.shape[1]), x.T @ y)
    return found[:inputs].T
