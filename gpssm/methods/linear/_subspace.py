"""Subspace identification: a linear model within a second, without compiling anything."""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._history import History
from gpssm._core._result import Result
from gpssm.data import DataError, Episode
from gpssm.data._episodes import part_of
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.methods.linear._simulated import free_run_error, with_inputs_refitted, with_noises_found
from gpssm.methods.linear._start import linear_starts
from gpssm.predict import LinearPredictor, LinearSystem

LONGEST_GAP = 5
"""Missing outputs in a row that are bridged by straight lines; at longer gaps a record is cut in two."""
SHORTEST = 12
"""Steps of a piece that is worth using."""
ENOUGH = 1.02
"""A larger order must lower the error on the ends of the records by more than this factor."""
RADIUS = 0.9995
"""Largest absolute eigenvalue: free runs of regressions on noisy data explode otherwise."""


class Subspace(AbstractMethod):
    """A linear state-space model by subspace identification: the directions of the past that say most about the future
    are the states, regressions give the matrices, and least squares on free runs how inputs act.

    Takes about a second and compiles nothing, so that it can be had before anything else. `Linear` climbs from such a
    start to the most likely model.
    """

    order: int | Sequence[int] | None = None
    """Number of states: one, several to choose from, or None for one to six. They are compared by free runs over the
    last quarters of the records."""

    def __check_init__(self) -> None:
        if any(order < 1 for order in self._orders()):
            raise ValueError(f"order={self.order}: a state-space model needs at least one state")

    @property
    def deterministic(self) -> bool:
        return True

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Choose an order, and identify with it."""
        began = time.monotonic()
        records = _pieces(data.scaled)
        orders = self._orders()
        order, told = (orders[0], "") if len(orders) == 1 else _chosen(records, orders, run)
        found = _best(records, records, order)
        if found is None:
            raise DataError(f"{data.episodes.num_steps} steps are too few for a linear model with {order} states")
        run.interruption.check()
        system = with_noises_found(found.system, records)
        history = History(float(data.episodes.num_steps), seconds=time.monotonic() - began)
        history.events.append(f"subspace identification: {order} states{told}")
        return Fit.of(LinearPredictor(system, data.scaler, data.channels), self, Result.finished, history)

    def _orders(self) -> tuple[int, ...]:
        if self.order is None:
            return tuple(range(1, 7))
        return (self.order,) if isinstance(self.order, int) else tuple(self.order)


class _Found(NamedTuple):
    error: float
    system: LinearSystem


def _pieces(scaled: Iterable[Episode]) -> list[Episode]:
    """The records, cut where outputs are missing for long."""
    found = []
    for episode in scaled:
        known = np.flatnonzero(episode.observed.any(axis=1))
        cuts = np.flatnonzero(np.diff(known) > LONGEST_GAP)
        for part in np.split(known, cuts + 1):
            if len(part):
                found.append(episode[int(part[0]) : int(part[-1]) + 1])
    long = [piece for piece in found if len(piece) >= SHORTEST]
    return long or found


def _chosen(records: list[Episode], orders: Sequence[int], run: Run) -> tuple[int, str]:
    """The smallest order that is about as good as the best, on the ends of the records."""
    long = [record for record in records if 3 * len(record) // 4 >= SHORTEST]
    if not long:
        return orders[0], ", because the records are too short to compare more"
    heads = [record[: 3 * len(record) // 4] for record in long]
    tails = [record[3 * len(record) // 4 - min(10, len(record) // 4) :] for record in long]
    errors = {}
    for order in orders:
        run.interruption.check()
        found = _best(heads, tails, order)
        if found is not None:
            errors[order] = np.sqrt(found.error)
    if not errors:
        return orders[0], ""
    least = min(errors.values())
    order = next(order for order, error in errors.items() if error <= ENOUGH * least)
    told = ", ".join(f"{error:.3g} with {n}" for n, error in errors.items())
    return order, f", chosen by the error over the ends of the records: {told}"


def _best(records: list[Episode], judged: list[Episode], order: int) -> _Found | None:
    """Of the systems that several regressions give, as they are and with inputs refitted, the one whose free runs over
    `judged` are closest."""
    trials = []
    with np.errstate(all="ignore"):
        for start in linear_starts(part_of(records), order, max_radius=RADIUS):
            systems = [start]
            with suppress(np.linalg.LinAlgError):
                systems.append(with_inputs_refitted(start, records))
            trials += [_Found(free_run_error(system, judged), system) for system in systems]
    finite = [trial for trial in trials if np.isfinite(trial.error)]
    return min(finite, key=lambda trial: trial.error) if finite else None
