"""The verdict: one headline, and where it holds."""

from dataclasses import dataclass
from typing import final

from gpssm.reporting._data_summary import DataSummary
from gpssm.reporting._finding import Direction, Finding, Grade

_WRONG = {
    Direction.none: "wrong",
    Direction.both: "wrong",
    Direction.narrow: "too narrow",
    Direction.wide: "too wide",
}


@final
@dataclass(frozen=True)
class Verdict:
    """What to trust, where, and what to try next, in plain words."""

    headline: str
    where: str
    findings: tuple[Finding, ...]
    advice: tuple[str, ...]
    """Most urgent first."""

    def grade(self, question: str) -> Grade:
        """The answer to the question that begins so."""
        return next(finding.grade for finding in self.findings if finding.question.startswith(question))


def conclude(
    *,
    simulation: Finding,
    prediction: Finding,
    bands: Finding,
    useful: Finding,
    explained: Finding,
    carries_over: Finding,
    trained: Finding,
    noise: Finding | None,
    better: Finding | None = None,
    data: DataSummary,
    judged_by: DataSummary,
) -> Verdict:
    """Put the findings together."""
    findings = tuple(
        finding
        for finding in (simulation, prediction, bands, useful, explained, carries_over, better, trained, noise)
        if finding is not None
    )
    # What spoils everything else comes first: the training, then the data, then the structure of the model, then bands.
    urgent = [f for f in (trained, carries_over, better, explained, noise, simulation, prediction, bands, useful) if f]
    advice = tuple(dict.fromkeys(line for finding in urgent for line in finding.advice))
    return Verdict(
        _headline(simulation.grade, prediction.grade, bands, useful.grade), _where(data, judged_by), findings, advice
    )


def _headline(simulation: Grade, prediction: Grade, bands: Finding, useful: Grade) -> str:
    match simulation, prediction:
        case Grade.good, _:
            mean = "Trust its free simulation"
        case Grade.caution, Grade.good:
            mean = "Trust its predictions over the tested horizons; its free simulation is rough"
        case Grade.caution, _:
            mean = "Use its free simulation as a rough guide only"
        case Grade.bad, Grade.good:
            mean = "Trust its predictions over the tested horizons, but not its free simulation"
        case Grade.bad, Grade.caution:
            mean = "Use it for short predictions only, and not for free simulation"
        case Grade.bad, _:
            return "Do not use this model yet: it neither simulates nor predicts well."
        case _:
            mean = "The held-out data cannot show how well it simulates"
    match bands.grade:
        case Grade.good if useful in (Grade.caution, Grade.bad):
            return f"{mean}; its bands can be believed, but over long runs they are too wide to say much."
        case Grade.caution if useful in (Grade.caution, Grade.bad):
            return f"{mean}; its bands are approximate, and over long runs too wide to say much."
        case Grade.good:
            return f"{mean}; its bands can be believed."
        case Grade.caution if bands.direction in (Direction.wide, Direction.both):
            return f"{mean}; its bands are wider than they need be."
        case Grade.caution:
            return f"{mean}; take its bands as approximate."
        case Grade.bad:
            return f"{mean}, but not its bands: they are {_WRONG[bands.direction]}."
        case _:
            return f"{mean}; there are too few data to judge its bands."


def _where(data: DataSummary, judged_by: DataSummary) -> str:
    ranges = ", ".join(f"{c.name} from {c.smallest:.3g} to {c.largest:.3g}" for c in data.channels)
    records = "one record" if judged_by.records == 1 else f"{judged_by.records} records"
    return (
        f"Judged on {records} with {judged_by.steps} steps that were held out. The evidence reaches as far as the "
        f"data: {ranges}. Beyond that, expect wider bands and trust nothing that was not tested."
    )
