"""Verdict rules on errors: how far the predictions can be followed."""

from collections.abc import Sequence

import numpy as np

from gpssm.evaluate import Score
from gpssm.evaluate._score import band_deviation
from gpssm.predict import Rollout
from gpssm.reporting._finding import Finding, Grade
from gpssm.reporting._kind import Kind

GOOD, ROUGH = 0.3, 0.7
"""Errors in units of the signal's standard deviation: fits of 70 % and 30 %."""
AT_NOISE = 1.3
"""An error up to this multiple of the measurement noise is as small as an error can be shown to be."""
USEFUL = 0.5
"""A band is called useful while it is at most half as wide as one that would hold the signal without any model."""


def free_simulation(score: Score, names: Sequence[str], kind: Kind, *, nothing_left: bool) -> Finding:
    """Can the model run on its own? `nothing_left` says that no test found anything that a better model could use."""
    question = "Can it simulate freely?"
    if score.broken:
        return Finding(
            question,
            Grade.bad,
            f"The free simulation runs away: {score.broken} predicted values are not finite.",
            (kind.calmer,),
        )
    if not np.isfinite(score.nrmse).any():
        return Finding(question, Grade.unknown, "No held-out output varies, so errors cannot be put in proportion.")
    worst = int(np.nanargmax(score.nrmse))
    at_noise = bool(_at_noise(score, kind)[worst])
    grade = _grade(float(score.nrmse[worst]), at_noise)
    fits = ", ".join(f"{name} {fit:.1f} %" for name, fit in zip(names, score.fit_percent, strict=True))
    which = "" if len(names) == 1 else f" of {names[worst]}, the worst output,"
    text = (
        f"Fit of the free run on held-out data: {fits}. Its error{which} is {score.rmse[worst]:.3g} RMS, "
        f"{100 * score.nrmse[worst]:.1f} % of the signal's standard deviation"
    )
    text += ", which is the size of the measurement noise: no model can be shown to do better." if at_noise else "."
    if grade is Grade.good:
        return Finding(question, grade, text)
    if nothing_left:
        text += (
            " One-step errors are white and the bands hold: the rest looks like disturbances that no model foresees."
        )
        return Finding(question, grade, text)
    return Finding(question, grade, text, (kind.richer,))


def prediction(scores: Sequence[Score], kind: Kind) -> Finding:
    """How many steps ahead are predictions worth having?"""
    question = "Can it predict a few steps ahead?"
    scores = [score for score in scores if score.horizon is not None]
    if not scores or any(score.broken for score in scores):
        return Finding(question, Grade.bad, "Some predictions are not finite.", (kind.calmer,))
    beaten = [bool(np.all(_less(score.rmse, score.reference_rmse))) for score in scores]
    precise = [_grade_all(score, kind) is Grade.good for score in scores]
    parts = [
        f"{score.name} ahead {_worst_percent(score.nrmse)} (holding the last value: "
        f"{_worst_percent(score.reference_rmse / score.spread)})"
        for score in scores
    ]
    text = f"Error in % of the signal's standard deviation: {'; '.join(parts)}."
    if all(beaten) and all(precise):
        return Finding(question, Grade.good, text)
    if not beaten[0]:
        text += " One step ahead the model is no better than holding the last value."
        clocks = ("Check that inputs and outputs are on the same clock.",) if kind.learnt else ()
        return Finding(question, Grade.bad, text, (*clocks, kind.richer))
    good = [score.horizon for score, ok, won in zip(scores, precise, beaten, strict=True) if ok and won]
    if good:
        text += f" Good up to {max(h for h in good if h is not None)} steps."
    return Finding(question, Grade.caution, text)


def useful_horizon(simulations: Sequence[Rollout], spread: np.ndarray, dt: float | None, kind: Kind) -> Finding:
    """How long does the band of a free run say something?"""
    question = "Is the band narrow enough to be useful?"
    widths = [(band_deviation(r) / spread)[:, np.isfinite(spread)] for r in simulations]
    if not np.isfinite(spread).any() or not all(np.isfinite(width).all() for width in widths):
        return Finding(question, Grade.unknown, "The width of the band cannot be put in proportion to the signal.")
    step = first_useless_step(widths)
    share = float(np.concatenate(widths).mean())
    astray = share_astray(simulations, spread)
    text = f"On average the 95 % band of the free run is {100 * share:.0f} % as wide as one around the signal's mean"
    if step is None:
        return Finding(question, Grade.good, f"{text}; it stays useful over the whole free run.")
    when = f"step {step} of the free run" + ("" if dt is None else f" (time {step * dt:.3g})")
    grade = Grade.caution if step > 1 else Grade.bad
    text += f"; from {when} on it exceeds half of that, and there the model says little beyond the signal's range."
    if astray > 0.01:
        text += f" {100 * astray:.0f} % of the sampled trajectories leave the region of the data altogether."
    more = "Where the band is wide, more training data will narrow it; so will starting again from measurements."
    return Finding(question, grade, text, (more if kind.learnt else kind.richer,))


def share_astray(simulations: Sequence[Rollout], spread: np.ndarray) -> float:
    """Share of sampled trajectories that at some step are further than five standard deviations of the signal from
    the middle one."""
    known = np.isfinite(spread)
    lost = []
    for rollout in simulations:
        away = np.abs(rollout.signals - np.median(rollout.signals, axis=0))[..., known]
        lost.append(np.mean((away > 5.0 * spread[known]).any(axis=(1, 2))))
    return float(np.mean(lost))


def first_useless_step(widths: Sequence[np.ndarray]) -> int | None:
    """First step of the free run, counted from its start, at which the band has become useless; None if it never is.

    Widths have shape (steps, outputs), in units of the signal. They are averaged over records and outputs, and over
    eleven steps, because a band breathes with the signal.
    """
    longest = max(len(w) for w in widths)
    totals, counts = np.zeros(longest), np.zeros(longest)
    for each in widths:
        totals[: len(each)] += each.mean(axis=1)
        counts[: len(each)] += 1.0
    width = totals / counts
    half = min(5, (longest - 1) // 2)
    padded = np.pad(width, half, mode="edge")
    smooth = np.convolve(padded, np.full(2 * half + 1, 1.0 / (2 * half + 1)), mode="valid")
    useless = np.flatnonzero(smooth > USEFUL)
    return int(useless[0]) + 1 if len(useless) else None


def _grade(nrmse: float, at_noise: bool) -> Grade:
    if nrmse <= GOOD or (at_noise and nrmse <= ROUGH):
        return Grade.good
    return Grade.caution if nrmse <= ROUGH else Grade.bad


def _grade_all(score: Score, kind: Kind) -> Grade:
    return Grade.worst(
        [
            _grade(float(nrmse), bool(small))
            for nrmse, small in zip(score.nrmse, _at_noise(score, kind), strict=True)
            if np.isfinite(nrmse)
        ]
    )


def _at_noise(score: Score, kind: Kind) -> np.ndarray:
    """Which errors are as small as the measurement noise, where the model knows that."""
    if kind.measurement_noise is None:
        return np.zeros(len(score.rmse), bool)
    return score.rmse <= AT_NOISE * kind.measurement_noise


def _worst_percent(ratios: np.ndarray) -> str:
    known = ratios[np.isfinite(ratios)]
    return f"{100 * known.max():.1f} %" if len(known) else "unknown"


def _less(error: np.ndarray, reference: np.ndarray) -> np.ndarray:
    return (error < reference) | ~np.isfinite(reference) | ~np.isfinite(error)
