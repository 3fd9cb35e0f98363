"""L-BFGS as a stage of a fit: it shows itself, can be ended, and goes on where it was broken off."""

import time
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from gpssm._core._history import History
from gpssm._core._rounds import Ending, Evaluate, Evaluation, Objective, minimise
from gpssm.fitting._interrupt import Stopped
from gpssm.fitting._progress import Status
from gpssm.fitting._stage import Stage


class Searched(NamedTuple):
    """Where a search ended."""

    best: Evaluation | None
    """None if the loss was finite nowhere."""
    gain: float
    """How much the loss has fallen since the start."""
    ending: Ending | None
    """None if the user wanted it to end."""
    history: History


def search(
    evaluate: Evaluate,
    start: Float[np.ndarray, " K"],
    stage: Stage,
    history: History,
    *,
    iterations: int,
    tell: Callable[[Evaluation, History], Status],
    tolerance: float = 1e-7,
    gradient_tolerance: float = 1e-7,
    memory: int = 20,
) -> Searched:
    """Minimise from `start`. `tell` adds an iteration to the history and says what to show of it."""

    def watched(flat: np.ndarray):
        stage.check()
        return evaluate(flat)

    at, done, record, first = np.asarray(start, float), 0, None, None
    resumed = stage.resume({"start": jnp.asarray(at), "done": jnp.zeros((), int), "first": jnp.zeros(())})
    if resumed is not None:
        at, done = np.asarray(resumed.state["start"]), int(resumed.state["done"])
        history, record, first = resumed.history, resumed.record, float(resumed.state["first"])
    objective = Objective(watched, record)
    objective.first = first
    began = time.monotonic() - history.seconds

    def after_iteration(accepted: Evaluation, done: int) -> None:
        if accepted.repeated:
            return  # it is in the history already
        history.seconds = time.monotonic() - began
        stage.update(tell(accepted, history))
        # Asked to end, it may have no other chance: an evaluation of a large model takes longer than people wait.
        if stage.is_due(done) or stage.interruption.requested:
            place = objective.place
            state = {"start": place.start, "done": place.done, "first": objective.first}
            stage.write({name: jnp.asarray(value) for name, value in state.items()}, done, history, record=place.record)

    ending = None
    try:
        ending = minimise(
            objective,
            at,
            iterations=iterations,
            done=done,
            tolerance=tolerance,
            gradient_tolerance=gradient_tolerance,
            memory=memory,
            after_iteration=after_iteration,
        )
    except Stopped as stopped:
        stage.interruption.heard(stopped)
    history.seconds = time.monotonic() - began
    return Searched(objective.best, objective.gain, ending, history)
