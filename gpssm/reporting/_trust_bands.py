"""Verdict rules on calibration: can the bands be believed?"""

import math
from collections.abc import Sequence

from gpssm.reporting._finding import Finding, Grade
from gpssm.reporting._score import Score

FEW = 20.0
"""Below this many effective values, only gross errors of a band can be seen."""
MUCH = 1.15
"""A factor by which errors may differ from what the bands promise before the bands are called wrong, not just off."""

USELESS = 0.5
"""Bands twice as wide as they should be are called wrong although they are safe."""


def bands(scores: Sequence[Score]) -> Finding:
    """Are errors as large as the bands say? Judged one step ahead and in the free run; other horizons are watched."""
    question = "Can its bands be believed?"
    judged = [score for score in scores if score.horizon in (None, 1)]
    grades, sentences, advice = [], [], []
    for score in judged:
        grade, sentence, factor = _judge(score)
        grades.append(grade)
        sentences.append(sentence)
        if factor is not None and grade in (Grade.bad, Grade.caution):
            advice.append(_advice(score, factor))
    watched = [s for s in scores if s not in judged and s.num_effective >= FEW and not s.coverage.passed]
    if watched:
        grades.append(Grade.caution)
        sentences.append(
            "Coverage leaves the range that chance allows at "
            + ", ".join(f"{s.name} ({100 * s.coverage.observed[-1]:.1f} % inside the 95 % band)" for s in watched)
            + "."
        )
    return Finding(question, Grade.worst(grades), " ".join(sentences), tuple(advice))


def _judge(score: Score) -> tuple[Grade, str, float | None]:
    where = "In the free run" if score.horizon is None else "One step ahead"
    test = score.calibration
    if test is None or score.broken:
        return Grade.unknown, f"{where}, there is too little to judge the bands by.", None
    inside = 100 * score.coverage.observed[-1]
    low, high = 100 * score.coverage.lower[-1], 100 * score.coverage.upper[-1]
    text = f"{where}, {inside:.1f} % of the measurements lie in the 95 % band ({low:.1f} to {high:.1f} % if it is right"
    text += f"; worth {score.num_effective:.0f} independent values)"
    if test.passed and score.coverage.passed:
        if score.num_effective < FEW:
            return Grade.unknown, f"{text}: no sign of error, but too few to judge by.", None
        return Grade.good, f"{text}: no evidence against the bands.", None
    factor = test.spread
    off = abs(math.log(factor)) > math.log(MUCH)
    if off:
        kind = "too narrow" if factor > 1.0 else "too wide (on the safe side)"
        text += f": the bands are {kind}, errors are {factor:.2f} times what they promise."
    else:
        text += ": the width is about right, but the errors are not distributed as predicted (see the histogram)."
    narrow = (off and factor > 1.0) or score.coverage.observed[-1] < 0.91
    useless = factor < USELESS
    return (Grade.bad if narrow or useless else Grade.caution), text, factor


def _advice(score: Score, factor: float) -> str:
    where = "of a free run" if score.horizon is None else "one step ahead"
    if factor > MUCH:
        return (
            f"Until the model is better, widen the bands {where} by the factor {factor:.2f}; more inducing points, "
            "a state more or a longer training may mend the cause."
        )
    if factor < 1.0 / MUCH:
        return f"The bands {where} are safe but wide: a longer training or more data should narrow them."
    return f"Look at the histogram for {where}: a slope means a bias, peaks at both ends mean outliers."
