"""After how many rounds training should end, by free runs over stretches that it has not seen."""

from dataclasses import replace
from typing import TYPE_CHECKING

from gpssm.methods._around_linear import AroundLinear
from gpssm.methods._tried import Tried

if TYPE_CHECKING:
    from gpssm.methods.marginal._method import Marginal

PATIENCE = 2
"""Rounds without a better free run after which no more are made: the next is often a little worse."""


def watched(method: "Marginal", tried: Tried) -> tuple["Marginal", str, str]:
    """The method with the number of states and of rounds after which free runs were best, the name of the fit that made
    them, and what they were."""
    if not isinstance(method.model, AroundLinear):
        rounds, told = _rounds(method, tried, "")
        return replace(method, rounds=rounds), _name("", rounds), f"{_SAID}{told}"
    found: dict[int, tuple[int, str]] = {}
    for states in method.model.choices:
        one = replace(method, model=replace(method.model, states=states))
        found[states] = _rounds(one, tried, _label(states))
    best = max(found, key=lambda states: tried.value(_name(_label(states), found[states][0])))
    told = "; ".join(f"{_label(states)}{told}" for states, (_, told) in found.items())
    kept = replace(method, rounds=found[best][0], model=replace(method.model, states=best))
    return (
        kept,
        _name(_label(best), found[best][0]),
        f"{_SAID}{told}" + (f"; {best} states kept" if len(found) > 1 else ""),
    )


_SAID = "value of free runs over held-out stretches, from the start and after each round: "


def _rounds(method: "Marginal", tried: Tried, label: str) -> tuple[int, str]:
    """The number of rounds after which free runs were best. Each round goes on from the last; none is where training
    begins, with the posterior of the function there."""
    made, best, values = None, 0, list[float]()
    for rounds in range(method.rounds + 1):
        # Rounds on a grid come once, when all others are made.
        one = replace(method, rounds=min(rounds, 1), model=method.model if made is None else None, exact=None)
        made = tried.attempt(_name(label, rounds), one, start=made)
        values.append(tried.value(_name(label, rounds)))
        if values[-1] > values[best]:
            best = rounds
        if made is None or rounds - best == PATIENCE:
            break
    return best, f"{', '.join(f'{value:.3f}' for value in values)}: {best} rounds"


def _label(states: int) -> str:
    return f"{states} states, "


def _name(label: str, rounds: int) -> str:
    return f"{label}after {rounds} rounds"
