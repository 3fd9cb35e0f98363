"""Verdict rules on calibration: can the bands be believed?"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from gpssm.evaluate import Score
from gpssm.evaluate._score import POOR_COVERAGE
from gpssm.reporting._finding import Direction, Finding, Grade
from gpssm.reporting._kind import Kind

FEW = 20.0
"""Below this many effective values, only gross errors of a band can be seen."""
MUCH = 1.15
"""A factor by which errors may differ from what the bands promise before the bands are called wrong, not just off."""
USELESS = 0.5
"""Bands twice as wide as they should be are called wrong although they are safe."""
LOW = 0.91
"""A 95 % band that holds a smaller share is called too narrow whatever its errors are on average."""


class _Judgement(NamedTuple):
    grade: Grade
    text: str
    direction: Direction = Direction.none
    advice: tuple[str, ...] = ()


def bands(scores: Sequence[Score], kind: Kind) -> Finding:
    """Are errors as large as the bands say? Judged one step ahead and in the free run; other horizons are watched."""
    judged = [score for score in scores if score.horizon in (None, 1)]
    found = [_judge(score, kind) for score in judged]
    watched = [s for s in scores if s not in judged and s.num_effective >= FEW and not s.coverage.passed]
    if watched:
        shares = ", ".join(f"{s.name} ({100 * s.coverage95:.1f} % inside the 95 % band)" for s in watched)
        found.append(_Judgement(Grade.caution, f"Coverage leaves the range that chance allows at {shares}."))
    return Finding(
        "Can its bands be believed?",
        Grade.worst([one.grade for one in found]),
        " ".join(one.text for one in found),
        tuple(line for one in found for line in one.advice),
        Direction.of([one.direction for one in found]),
    )


def _judge(score: Score, kind: Kind) -> _Judgement:
    where = "In the free run" if score.horizon is None else "One step ahead"
    test = score.calibration
    if test is None or score.broken:
        return _Judgement(Grade.unknown, f"{where}, there is too little to judge the bands by.")
    low, high = 100 * score.coverage.lower[-1], 100 * score.coverage.upper[-1]
    text = (
        f"{where}, {100 * score.coverage95:.1f} % of the measurements lie in the 95 % band ({low:.1f} to {high:.1f} % "
        f"if it is right; worth {score.num_effective:.0f} independent values)"
    )
    if test.passed and score.coverage.passed:
        if score.num_effective < FEW and score.coverage95 < POOR_COVERAGE:
            doubt = "too few to be sure, but so many outside are a bad sign"
            return _Judgement(Grade.caution, f"{text}: {doubt}.", Direction.narrow)
        if score.num_effective < FEW:
            return _Judgement(Grade.unknown, f"{text}: no sign of error, but too few to judge by.")
        return _Judgement(Grade.good, f"{text}: no evidence against the bands.")
    factor = test.spread
    if abs(math.log(factor)) <= math.log(MUCH):
        direction = Direction.none
        text += ": the width is about right, but the errors are not distributed as predicted (see the histogram)."
    elif factor > 1.0:
        direction = Direction.narrow
        text += f": the bands are too narrow, errors are {factor:.2f} times what they promise."
    else:
        direction = Direction.wide
        text += f": the bands are too wide (on the safe side), errors are {factor:.2f} times what they promise."
    wrong = direction is Direction.narrow or score.coverage95 < LOW or factor < USELESS
    return _Judgement(
        Grade.bad if wrong else Grade.caution, text, direction, (_advice(score, factor, direction, kind),)
    )


def _advice(score: Score, factor: float, direction: Direction, kind: Kind) -> str:
    where = "of a free run" if score.horizon is None else "one step ahead"
    if direction is Direction.narrow:
        return f"Until the model is better, widen the bands {where} by the factor {factor:.2f}; {kind.mends}."
    if direction is Direction.wide:
        return f"The bands {where} are safe but wide: a better model or more data should narrow them."
    return f"Look at the histogram {where}: a slope means a bias, peaks at both ends mean outliers."
