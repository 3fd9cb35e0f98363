"""Whether a simpler model, fitted to the same records, would have done."""

from gpssm.evaluate import Judged, Score, judge
from gpssm.fitting import Fit
from gpssm.predict import AbstractPredictor, LinearPredictor
from gpssm.reporting._finding import Finding, Grade

AS_GOOD = 1.05
"""Errors within this factor are level."""
CLEARLY_WORSE = 1.25


def linear_is_enough(model: Fit | AbstractPredictor, judged: Judged) -> Finding | None:
    """The linear model that was tried beside the one that was kept, on the same held-out records; None if none was."""
    if not isinstance(model, Fit) or isinstance(model.system, LinearPredictor):
        return None
    tried = [part.system for part in model.parts if isinstance(part.system, LinearPredictor)]
    if not tried:
        return None
    return compared(judged.free_run, judge(tried[0], judged.episodes, n_init=judged.n_init, seed=0).free_run, tried[0])


def compared(kept: Score, linear: Score, system: LinearPredictor) -> Finding:
    """What the comparison says to somebody who would rather have the simpler one."""
    ratio = (100.0 - linear.fit_overall) / max(100.0 - kept.fit_overall, 1e-9)
    order = system.system.order
    numbers = (
        f"A linear model with {order} state{'s' if order > 1 else ''}, fitted to the same records, has a fit of "
        f"{linear.fit_overall:.1f} % over these free runs, and this one {kept.fit_overall:.1f} %: its error is "
        f"{ratio:.2g} times as large."
    )
    if ratio >= CLEARLY_WORSE:
        return Finding("Is it better than a linear model?", Grade.good, numbers)
    grade = Grade.caution if ratio >= AS_GOOD else Grade.bad
    return Finding(
        "Is it better than a linear model?",
        grade,
        numbers,
        ("Take the linear model (gpssm.Subspace(), gpssm fit --method subspace): it is about as good, and simpler.",),
    )
