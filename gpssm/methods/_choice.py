"""Which of the methods that `Auto` has tried is kept, and why: by what held-out stretches say."""

from collections.abc import Set

from jaxtyping import PRNGKeyArray

from gpssm._core._history import CHOSEN
from gpssm.evaluate import Selection
from gpssm.evaluate._selection import Row

LEVEL = 0.005
"""Nats a sample within which the simpler of two methods is kept."""
MARGIN = 0.05
"""How much more the error of what is kept may be than that of the best."""
SMALLEST = 0.1
"""Share of a mixture below which a member is not worth its fit."""
GAIN = 0.05
"""Nats a step by which a mixture must be likelier than the best method to be worth several fits."""


def chosen(selection: Selection, simple: Set[str]) -> str | None:
    """Of those that err by at most as much as every simple method, and by at most 5 % more than the best of all, the
    one with the highest value; of those that are level with it, the first. None if all failed."""
    rows = {row.candidate: row for row in selection.rows() if not row.failed}
    if not rows:
        return None
    least = min(row.error for row in rows.values())
    allowed = [(1.0 + MARGIN) * least, *(row.error for name, row in rows.items() if name in simple)]
    accurate = {name: row for name, row in rows.items() if row.error <= min(allowed)}
    highest = max(row.value for row in accurate.values())
    return next(name for name, row in accurate.items() if row.value >= highest - LEVEL)


def because(selection: Selection, best: str) -> str:
    """The choice in a sentence."""
    rows: dict[str, Row] = {row.candidate: row for row in selection.rows() if not row.failed}
    others = [row for name, row in rows.items() if name != best]
    if not others:
        return f"{CHOSEN}{best}, the only one that could be judged"
    second = min(others, key=lambda row: row.error)
    return (
        f"{CHOSEN}{best}. Running freely over {len({t.fold for t in selection.trials})} held-out stretches it errs by "
        f"{rows[best].error:.3g} standard deviations of the outputs; next is {second.candidate} with {second.error:.3g}"
    )


def mixture(selection: Selection, best: str, *, key: PRNGKeyArray) -> tuple[dict[str, float], float] | None:
    """Shares and width of a mixture that is clearly likelier than the best method, judged on stretches that its shares
    were not found on; None where there is none."""
    if len({trial.fold for trial in selection.trials}) < 3:
        return None
    if selection.gain_by_stacking(best, key=key) <= GAIN:
        return None
    found = selection.stacked(key=key)
    shares = found.above(SMALLEST)
    return (shares, found.width) if len(shares) > 1 else None
