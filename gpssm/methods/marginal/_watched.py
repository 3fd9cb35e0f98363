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
    cases = {"": method}
    if isinstance(method.model, AroundLinear):
        models = {f"{states} states": replace(method.model, states=states) for states in method.model.choices}
        cases = {label: replace(method, model=model) for label, model in models.items()}
    found = {label: _rounds(one, tried, label) for label, one in cases.items()}
    best = max(found, key=lambda label: tried.value(_name(label, found[label][0])))
    told = "; ".join(f"{label}, {told}" if label else told for label, (_, told) in found.items())
    kept = f"; {best} kept" if len(found) > 1 else ""
    rounds = found[best][0]
    return replace(cases[best], rounds=rounds), _name(best, rounds), f"{_SAID}{told}{kept}"


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


def _name(label: str, rounds: int) -> str:
    return f"{label}, after {rounds} rounds" if label else f"after {rounds} rounds"
