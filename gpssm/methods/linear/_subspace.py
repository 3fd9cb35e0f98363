"""Subspace identification: a linear model within a second, without compiling anything."""

import time
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._history import History
from gpssm._core._result import Result
from gpssm.data import DataError, Episode, Scaler
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.methods.linear._direct import best_system, direct_term, freed_of
from gpssm.methods.linear._simulated import with_noises_found
from gpssm.predict import LinearPredictor

LONGEST_GAP = 5
"""Missing outputs in a row that are bridged by straight lines; at longer gaps a record is cut in two."""
SHORTEST = 12
"""Steps of a piece that is worth using."""
ENOUGH = 1.02
"""A larger order must lower the error on the ends of the records by more than this factor."""


class Subspace(AbstractMethod):
    """A linear state-space model by subspace identification: the directions of the past that say most about the future
    are the states, regressions give the matrices, and least squares on free runs how inputs act.

    Takes about a second and compiles nothing, so that it can be had before anything else. `Linear` climbs from such a
    start to the most likely model.
    """

    order: int | Sequence[int] | None = None
    """Number of states: one, several to choose from, or None for one to six. They are compared by free runs over the
    last quarters of the records."""
    direct: bool | None = False
    """Whether inputs also act on outputs of their own step: y[t] = C x[t] + D u[t] + b. None lets free runs over the
    ends of the records decide."""

    def __check_init__(self) -> None:
        if any(order < 1 for order in self._orders()):
            raise ValueError(f"order={self.order}: a state-space model needs at least one state")

    @property
    def deterministic(self) -> bool:
        return True

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Choose an order, and identify with it."""
        began = time.monotonic()
        orders = self._orders()
        scaler, about_direct = direct_units(data, self.direct, run, orders)
        data = data if scaler is data.scaler else data.scaled_by(scaler)
        records = pieces(data.scaled)
        order, told = (orders[0], "") if len(orders) == 1 else _chosen(records, orders, run)
        result = Result.interrupted if run.interrupted else Result.finished
        found = best_system(records, records, order)
        if found is None:
            raise DataError(f"{data.episodes.num_steps} steps are too few for a linear model with {order} states")
        system = with_noises_found(found.system, records)
        history = History(float(data.episodes.num_steps), seconds=time.monotonic() - began)
        history.events += [about_direct] if about_direct else []
        history.events.append(f"subspace identification: {order} states{told}")
        return Fit.of(LinearPredictor(system, data.scaler, data.channels), self, result, history)

    def _orders(self) -> tuple[int, ...]:
        if self.order is None:
            return tuple(range(1, 7))
        return (self.order,) if isinstance(self.order, int) else tuple(self.order)


def direct_units(data: Prepared, direct: bool | None, run: Run, orders: Sequence[int]) -> tuple[Scaler, str]:
    """The units of the data with the direct term that they show, and what to say of it; as they are, if interrupted.

    With None, only if free runs over the ends of the records are closer with it, the rest having been learnt without
    them. A term that is there already stays.
    """
    if data.scaler.direct is not None or direct is False:
        return data.scaler, ""
    if not data.episodes.num_inputs:
        if direct:
            raise DataError("a direct input term needs inputs, and these records have none")
        return data.scaler, ""
    records = pieces(data.scaled)
    told = ""
    if direct is None:
        without, including = (_error_at_ends(records, orders, run, direct=wanted) for wanted in (False, True))
        told = f": error over the ends of the records {including:.3g} with it, {without:.3g} without"
        if not (run.interrupted or including * ENOUGH < without):
            return data.scaler, f"no direct input term{told}"
    if run.interrupted:
        return data.scaler, "no direct input term: interrupted before it was found"
    term = direct_term(records, tuple(orders)[:3])
    return data.scaler.with_direct(term, data.episodes), f"direct input term{told}"


def _error_at_ends(records: list[Episode], orders: Sequence[int], run: Run, *, direct: bool) -> float:
    """The least error over the ends of the records, of models of several orders that have not seen them."""
    heads, tails = heads_and_tails(records)
    if not heads:
        return np.inf
    if direct:
        term = direct_term(heads, tuple(orders)[:3])
        heads, tails = freed_of(term, heads), freed_of(term, tails)
    return min(_errors(heads, tails, orders, run).values(), default=np.inf)


def pieces(scaled: Iterable[Episode]) -> list[Episode]:
    """The records, cut where outputs are missing for long."""
    found = []
    for episode in scaled:
        known = np.flatnonzero(episode.observed.any(axis=1))
        cuts = np.flatnonzero(np.diff(known) > LONGEST_GAP)
        for part in np.split(known, cuts + 1):
            if len(part):
                found.append(episode[int(part[0]) : int(part[-1]) + 1])
    long = [piece for piece in found if len(piece) >= SHORTEST]
    # A single sample shows no motion.
    return long or [piece for piece in found if len(piece) > 1] or found


def heads_and_tails(records: list[Episode]) -> tuple[list[Episode], list[Episode]]:
    """The first three quarters of records that are long enough, and the rest with a few samples to start from."""
    long = [record for record in records if 3 * len(record) // 4 >= SHORTEST]
    heads = [record[: 3 * len(record) // 4] for record in long]
    return heads, [record[3 * len(record) // 4 - min(10, len(record) // 4) :] for record in long]


def _errors(heads: list[Episode], tails: list[Episode], orders: Sequence[int], run: Run) -> dict[int, float]:
    """Of each order, up to an interruption."""
    errors = {}
    for order in orders:
        if run.interrupted:
            break
        found = best_system(heads, tails, order)
        if found is not None:
            errors[order] = float(np.sqrt(found.error))
    return errors


def _chosen(records: list[Episode], orders: Sequence[int], run: Run) -> tuple[int, str]:
    """The smallest order that is about as good as the best, on the ends of the records."""
    heads, tails = heads_and_tails(records)
    if not heads:
        return orders[0], ", because the records are too short to compare more"
    errors = _errors(heads, tails, orders, run)
    if not errors:
        return orders[0], ""
    least = min(errors.values())
    order = next(order for order, error in errors.items() if error <= ENOUGH * least)
    told = ", ".join(f"{error:.3g} with {n}" for n, error in errors.items())
    return order, f", chosen by the error over the ends of the records: {told}"
