"""Verdict rules on what the model left unexplained, and on how it was trained."""

from collections.abc import Sequence

import numpy as np

from gpssm._core._history import History
from gpssm._core._result import Result
from gpssm.evaluate import Score
from gpssm.reporting._data_summary import DataSummary
from gpssm.reporting._finding import Finding, Grade
from gpssm.reporting._kind import Kind
from gpssm.reporting._residuals import ResidualTests

FEWEST = 4
"""Training steps whose bounds can show whether it was still rising."""
STRONG = 0.5
"""A correlation of residuals beyond this is a fault of the model; below it, a flaw that only many data can show."""


def residuals(tests: ResidualTests, outputs: Sequence[str], inputs: Sequence[str], kind: Kind) -> Finding:
    """Is anything predictable left in the one-step errors?"""
    question = "Has it explained what can be explained?"
    sentences, grades, advice = [], [], []
    white = tests.whiteness
    if white is None:
        grades.append(Grade.unknown)
        sentences.append("Too few steps to test whether one-step errors are white.")
    elif white.passed:
        grades.append(Grade.good)
        sentences.append(f"One-step errors look white (p = {white.p_value:.2g}).")
    else:
        lag, output = np.unravel_index(np.argmax(np.abs(white.autocorrelation)), white.autocorrelation.shape)
        size = float(white.autocorrelation[lag, output])
        grades.append(_size_grade(size))
        sentences.append(
            f"One-step errors are not white (p = {white.p_value:.1g}): those of {outputs[int(output)]} correlate by "
            f"{size:+.2f} with themselves {steps_before(int(white.lags[lag]))}."
        )
        if size < 0.0 and white.lags[lag] == 1:
            sentences.append("Errors that alternate mean that noise of the sensor is taken for motion.")
            advice.append(kind.sensor)
        else:
            advice.append(kind.richer)
    independent = tests.independence
    if independent is None:
        if inputs:
            sentences.append("Too few steps, or inputs that hardly vary: no test of the response to inputs.")
    elif independent.passed:
        grades.append(Grade.good)
        sentences.append(f"They do not depend on past inputs (p = {independent.p_value:.2g}).")
    else:
        flat = np.argmax(np.abs(independent.cross_correlation))
        lag, output, channel = np.unravel_index(flat, independent.cross_correlation.shape)
        size, name = float(independent.cross_correlation[lag, output, channel]), inputs[tests.tested_inputs[channel]]
        grades.append(_size_grade(size))
        sentences.append(
            f"They still depend on the inputs (p = {independent.p_value:.1g}): most on {name} "
            f"{steps_before(int(independent.lags[lag]))} ({size:+.2f})."
        )
        if independent.lags[lag] == 0 and kind.learnt:
            advice.append(
                f"Errors follow {name} of the same step: try a direct input term (--direct, direct=True), check the "
                f"clocks, and whether {name} comes from a controller."
            )
        else:
            advice.append(kind.richer)
    return Finding(question, Grade.worst(grades), " ".join(sentences), tuple(advice))


def generalisation(held_out: Score, training: Score | None, data: DataSummary) -> Finding:
    """Is it as good on new data as on its own, and do its own data cover the new?"""
    question = "Does it carry over to new data?"
    sentences, grades, advice = [], [], []
    if training is None:
        sentences.append("Training data were not given, so errors on them cannot be compared.")
    else:
        new, own = 1.0 - held_out.fit_overall / 100.0, 1.0 - training.fit_overall / 100.0
        sentences.append(
            f"Free-run error: {100 * new:.1f} % of the signal's standard deviation on held-out data, {100 * own:.1f} % "
            "on training data."
        )
        grade = Grade.good
        if new > 1.5 * own and new - own > 0.05:
            grade = Grade.bad if new > 3.0 * own and new - own > 0.2 else Grade.caution
            advice.append("Train on more, or more varied, data.")
        grades.append(grade)
    outside = [channel for channel in data.channels if channel.outside is not None and channel.outside > 0.05]
    if outside:
        grades.append(Grade.caution)
        share = ", ".join(f"{channel.name} {100 * (channel.outside or 0.0):.0f} %" for channel in outside)
        sentences.append(f"Held-out values outside the range of the training data: {share}.")
        advice.append("Record training data over the whole range in which the model will be used.")
    elif training is not None:
        sentences.append("The held-out values stay inside the range of the training data.")
    return Finding(question, Grade.worst(grades), " ".join(sentences), tuple(advice))


def training_went_well(history: History | None, result: Result | None) -> Finding:
    """Did training run to its end? `result` is how the fit ended; None for a model that comes without its fit, which is
    judged by the numbers of its history."""
    question = "Was it trained to the end?"
    if result is not None and not result.good:
        return Finding(question, Grade.bad, f"Training: {result.value}.", ("Train again, to the end.",))
    if history is not None and len(history.bound) and not np.isfinite(history.bound[-1]):
        return Finding(question, Grade.bad, "Training ended with a bound that is not finite.", ("Train again.",))
    if history is None or np.isfinite(history.bound).sum() < FEWEST:
        if result is None:
            return Finding(question, Grade.unknown, "No record of training steps came with this model.")
        return Finding(question, Grade.good, f"Training: {result.value}.")
    bound = history.bound[np.isfinite(history.bound)]
    rise, noise = last_rise(bound)
    where = f"over the last {tail_length(bound)} steps the bound rose by {rise:.3f} nats per time step"
    # An optimiser that says that it converged knows better than the last few of its steps.
    settled = result in (Result.converged, Result.plateau)
    if not settled and rise > max(0.02, 3.0 * noise):
        return Finding(question, Grade.caution, f"It was still learning: {where}.", ("Train longer.",))
    best = max((score for _, score in history.held_out), default=None)
    if best is not None and best - history.held_out[-1][1] > 0.1:
        text = f"The bound on held-out data ended {best - history.held_out[-1][1]:.2f} nats per step below its best."
        return Finding(question, Grade.caution, text, ("Stop earlier, or give more training data.",))
    how = f"Training: {result.value}" if settled and result is not None else "Training had levelled off"
    return Finding(question, Grade.good, f"{how}; {where}.")


def noise_levels(process: np.ndarray, measurement: np.ndarray, outputs: Sequence[str]) -> Finding | None:
    """Are the learnt noise levels believable? None if there is nothing to say. In units of the scaled signals."""
    sentences, advice = [], []
    for name, value in zip(outputs, measurement, strict=True):
        if value < 1e-3:
            sentences.append(f"The measurement noise of {name} has shrunk to {value:.1g} of the signal: nearly none.")
            advice.append("If the sensor does have noise, hold the measurement noise at a known value and train again.")
        if value > 0.5:
            sentences.append(f"{100 * value**2:.0f} % of the variance of {name} is taken for measurement noise.")
            advice.append("If the sensor is better than that, the dynamics were not found: try a state more.")
    for i, value in enumerate(process):
        if value > 0.5:
            sentences.append(f"State {i + 1} jumps at random by {value:.2f} in each step: it is hardly predictable.")
            advice.append("Try a state more, or other starting noise levels: the dynamics may not have been found.")
        if value < 1e-4:
            sentences.append(f"The process noise of state {i + 1} has shrunk to nothing ({value:.1g}).")
            advice.append("The model takes its dynamics for exact: check the coverage of the free run above all.")
    if not sentences:
        return None
    return Finding("Are the noise levels believable?", Grade.caution, " ".join(sentences), tuple(dict.fromkeys(advice)))


def tail_length(bound: np.ndarray) -> int:
    """Steps that count as the end of a training."""
    return max(2, len(bound) // 20)


def last_rise(bound: np.ndarray) -> tuple[float, float]:
    """How much the bound rose between the last two stretches, and the standard error of that."""
    length = tail_length(bound)
    last, before = bound[-length:], bound[-2 * length : -length]
    # Differences of neighbours show the noise without the trend.
    jitter = float(np.std(np.diff(bound[-2 * length :]))) / np.sqrt(2.0)
    return float(last.mean() - before.mean()), jitter * np.sqrt(2.0 / length)


def steps_before(lag: int) -> str:
    """A lag in words."""
    return "at the same step" if lag == 0 else "one step before" if lag == 1 else f"{lag} steps before"


def _size_grade(correlation: float) -> Grade:
    return Grade.bad if abs(correlation) > STRONG else Grade.caution
