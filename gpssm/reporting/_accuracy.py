"""Verdict rules on errors: how far the predictions can be followed."""

from collections.abc import Sequence

import numpy as np

from gpssm.predict import Rollout
from gpssm.reporting._finding import Finding, Grade, more_structure
from gpssm.reporting._score import Score, band_deviation

GOOD, ROUGH = 0.3, 0.7
"""Errors in units of the signal's standard deviation: fits of 70 % and 30 %."""
AT_NOISE = 1.3
"""An error up to this multiple of the measurement noise is as small as an error can be shown to be."""
USEFUL = 0.5
"""A band is called useful while it is at most half as wide as one that would hold the signal without any model."""


def free_simulation(
    score: Score, noise: np.ndarray, names: Sequence[str], *, states: int, nothing_left: bool
) -> Finding:
    """Can the model run on its own? `nothing_left` says that no test found anything that a better model could use."""
    question = "Can it simulate freely?"
    if score.broken:
        return Finding(
            question,
            Grade.bad,
            f"The free simulation runs away: {score.broken} predicted values are not finite.",
            ("Train on longer records, or with fewer states, so that the learnt dynamics are stable.",),
        )
    if not np.isfinite(score.nrmse).any():
        return Finding(question, Grade.unknown, "No held-out output varies, so errors cannot be put in proportion.")
    worst = int(np.nanargmax(score.nrmse))
    at_noise = bool(score.rmse[worst] <= AT_NOISE * noise[worst])
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
    return Finding(question, grade, text, (more_structure(states),))


def prediction(scores: Sequence[Score], noise: np.ndarray) -> Finding:
    """How many steps ahead are predictions worth having?"""
    question = "Can it predict a few steps ahead?"
    scores = [score for score in scores if score.horizon is not None]
    if not scores or any(score.broken for score in scores):
        return Finding(question, Grade.bad, "Some predictions are not finite.", ("Train again with fewer states.",))
    beaten = [bool(np.all(_less(score.rmse, score.reference_rmse))) for score in scores]
    precise = [_grade_all(score, noise) is Grade.good for score in scores]
    parts = [
        f"{score.name} ahead {100 * np.nanmax(score.nrmse):.1f} % (holding the last value: "
        f"{100 * np.nanmax(score.nrmse / score.rmse * score.reference_rmse):.1f} %)"
        for score in scores
    ]
    text = f"Error in % of the signal's standard deviation: {'; '.join(parts)}."
    if all(beaten) and all(precise):
        return Finding(question, Grade.good, text)
    if not beaten[0]:
        text += " One step ahead the model is no better than holding the last value."
        advice = ("Check that inputs and outputs are on the same clock; then try one state more or a longer training.",)
        return Finding(question, Grade.bad, text, advice)
    good = [score.horizon for score, ok, won in zip(scores, precise, beaten, strict=True) if ok and won]
    if good:
        text += f" Good up to {max(h for h in good if h is not None)} steps."
    return Finding(question, Grade.caution, text)


def useful_horizon(simulations: Sequence[Rollout], spread: np.ndarray, dt: float | None) -> Finding:
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
    advice = ("Where the band is wide, more training data will narrow it; so will starting again from measurements.",)
    return Finding(question, grade, text, advice)


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


def _grade_all(score: Score, noise: np.ndarray) -> Grade:
    grades = [
        _grade(float(nrmse), bool(rmse <= AT_NOISE * sd))
        for nrmse, rmse, sd in zip(score.nrmse, score.rmse, noise, strict=True)
        if np.isfinite(nrmse)
    ]
    return Grade.worst(grades)


def _less(error: np.ndarray, reference: np.ndarray) -> np.ndarray:
    return (error < reference) | ~np.isfinite(reference) | ~np.isfinite(error)
