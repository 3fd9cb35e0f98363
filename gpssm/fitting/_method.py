"""What a method must answer: settings only, and how they become a fit."""

from abc import abstractmethod

import equinox as eqx
from jaxtyping import PRNGKeyArray

from gpssm._core._precision import Portable
from gpssm._core._random import split
from gpssm._core._result import Result
from gpssm.fitting._prepared import Prepared
from gpssm.fitting._result import Fit
from gpssm.fitting._run import Run


class AbstractMethod(eqx.Module, Portable):
    """A way to learn a system. Fields are its settings: frozen, comparable, printable."""

    @property
    @abstractmethod
    def deterministic(self) -> bool:
        """Whether the fit does not depend on the key, so that one seed is enough."""

    @abstractmethod
    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Learn. `gpssm.fit` calls this; use that."""

    def then(self, later: "AbstractMethod") -> "Then":
        """This method, and another one that goes on from its fit."""
        return Then(self, later)


class Then(AbstractMethod):
    """One method after the other: the second goes on from the fit of the first."""

    first: AbstractMethod
    second: AbstractMethod

    @property
    def deterministic(self) -> bool:
        return self.first.deterministic and self.second.deterministic

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Fit both. If the first is interrupted or diverges there is nothing to go on from, and it is the result."""
        before = self.first.fit(data, run.within("1"), key=key)
        if not before.result.good:
            return before.by(self)
        after = self.second.fit(data.after(before), run.within("2"), key=left_over(key))
        if after.result is Result.diverged:
            kept = before.with_event(f"{type(self.second).__name__}: {after.result.value}; kept what it started from")
            return kept.by(self)
        return after.following(before).by(self)


def split_key(key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray, PRNGKeyArray]:
    """Three keys for the model, the network and the training of a method. A fourth is left over."""
    model_key, network_key, fit_key, _ = split(key, 4)
    return model_key, network_key, fit_key


def left_over(key: PRNGKeyArray) -> PRNGKeyArray:
    """The key for what comes after a method, which that method does not use."""
    return split(key, 4)[3]
