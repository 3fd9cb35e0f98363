"""The only result of learning."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpssm._core._history import History
from gpssm._core._result import Result
from gpssm.inference import AbstractInference
from gpssm.predict import AbstractPredictor

if TYPE_CHECKING:
    from gpssm.fitting._method import AbstractMethod


@dataclass(frozen=True)
class Fit:
    """What `gpssm.fit` returns: the system ready for use, and how it came about."""

    system: AbstractPredictor
    """Simulates, forecasts and predicts in the user's units."""
    method: "AbstractMethod"
    result: Result
    """How the fit ended."""
    history: History
    """How the fit went."""
    inference: AbstractInference | None = None
    """The trained posterior over the states of the training episodes, where the method has one."""
    parts: tuple["Fit", ...] = ()
    """The fits that this one was chosen from, or is made of."""

    @classmethod
    def of(
        cls,
        system: AbstractPredictor,
        method: "AbstractMethod",
        result: Result,
        history: History,
        *,
        inference: AbstractInference | None = None,
        parts: tuple["Fit", ...] = (),
    ) -> "Fit":
        """A fit whose system knows its history."""
        return cls(_told(system, history), method, result, history, inference, parts)

    @property
    def bound(self) -> float:
        """The bound per time step with which it ended (the average of the last 50 steps of Adam); minus infinity if
        there is none."""
        return self.history.final_bound

    @property
    def best_bound(self) -> float:
        """The highest bound per time step of a deterministic search."""
        return float(max(self.history.bound, default=float("-inf")))

    def following(self, earlier: "Fit") -> "Fit":
        """This fit with the history of the one that it went on from in front."""
        history = earlier.history.then(self.history)
        return replace(self, system=_told(self.system, history), history=history)

    def by(self, method: "AbstractMethod") -> "Fit":
        """The same as the result of a method that contains the one that made it."""
        return replace(self, method=method)

    def ended(self, result: Result) -> "Fit":
        """The same, having ended in another way."""
        return replace(self, result=result)

    def with_event(self, event: str) -> "Fit":
        """The same with another line in its history."""
        history = replace(self.history, events=[*self.history.events, event])
        return replace(self, system=_told(self.system, history), history=history)


def _told(system: AbstractPredictor, history: History) -> AbstractPredictor:
    return replace(system, history=history)  # pyright: ignore[reportArgumentType]
