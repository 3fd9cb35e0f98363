"""Ours against the best opponent: the difference from seed to seed, its standard error, and a verdict."""

from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

from scipy.stats import t as student

from experiments.pages._printed import printed
from experiments.pages._rows import Column, Stored
from experiments.pages._spec import Claim, Page


@dataclass(frozen=True)
class Outcome:
    """What came of a claim. Differences are ours minus theirs; the error is missing where there are too few seeds."""

    ours: float
    opponent: str
    theirs: float
    difference: float
    error: float | None
    seeds: int
    verdict: str

    def words(self) -> str:
        """Verdict and difference in a few words."""
        spread = "" if self.error is None else f" ± {self.error:.2g}"
        return f"{self.verdict} ({self.difference:+.2g}{spread}; {_seeds(self.seeds)})"


def compare(claim: Claim, page: Page, stored: Stored) -> Outcome | None:
    """Compare, seed by seed where both have the same seeds; nothing if ours or every opponent is missing."""
    column = page.columns[claim.column]
    ours = stored.by_seed(*claim.ours, column)
    if not ours:
        return None
    best = _best_opponent(claim, page, stored, column)
    if best is None:
        return None
    name, theirs = best
    # An opponent without seeds of its own (a linear model of one record, a printed number) is the same for each.
    pairs = {s: (x, theirs.get(s, mean(theirs.values()))) for s, x in ours.items() if len(theirs) < 2 or s in theirs}
    differences = [mine - other for mine, other in pairs.values()]
    count = len(differences)
    error = stdev(differences) / sqrt(count) if count > 2 else None
    difference = mean(differences)
    verdict = _verdict(difference, error, count, claim.higher_is_better)
    return Outcome(mean(ours.values()), name, mean(theirs.values()), difference, error, count, verdict)


def _best_opponent(claim: Claim, page: Page, stored: Stored, column: Column) -> tuple[str, dict[int, float]] | None:
    found = {_label(page, key[1]): stored.by_seed(*key, column) for key in claim.opponents}
    if claim.published:
        found[claim.published] = {-1: printed(page.name)[claim.published][claim.ours[0]]}
    found = {name: values for name, values in found.items() if values}
    pick = max if claim.higher_is_better else min
    return pick(found.items(), key=lambda item: mean(item[1].values()), default=None)


def _label(page: Page, method: str) -> str:
    """What the table of the page calls a method."""
    labels = [line.label for line in page.lines if line.method == method]
    columns = [shown.title for shown in page.shown if shown.method == method]
    return page.names.get(method, (labels or columns or [method])[0])


def _verdict(difference: float, error: float | None, count: int, higher_is_better: bool) -> str:
    """Level unless zero lies outside of Student's 95 % interval."""
    if error is None:
        return "undecided"
    if abs(difference) <= student.ppf(0.975, count - 1) * error:
        return "level"
    return "ahead" if (difference > 0) == higher_is_better else "behind"


def _seeds(count: int) -> str:
    return "one run" if count == 1 else f"{count} seeds"
