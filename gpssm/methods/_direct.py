"""A direct input term for any method: what inputs add to outputs at once is learnt first and taken off."""

from jaxtyping import PRNGKeyArray

from gpssm._core._result import Result
from gpssm.data import DataError
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.methods.linear._subspace import direct_units

ORDERS = (2, 4)
"""Of the linear models with which the term is found."""


class Direct(AbstractMethod):
    """y[t] = g(x[t]) + D u[t]: inputs also act on the outputs of their own step.

    State-space models let inputs act on the state of the next step. Where a record responds within the sample, that is
    a step too late. D is learnt by quick linear models (`Subspace(direct=True)`) and becomes part of the units in which
    the method learns everything else: whatever the method is, it learns y - D u, and its predictions have D u added.
    """

    method: AbstractMethod
    always: bool = True
    """False keeps the term only if it brings free runs over the ends of the records closer."""

    @property
    def deterministic(self) -> bool:
        return self.method.deterministic

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Find the term, and fit the method to the rest."""
        if data.start is not None and data.scaler.direct is None:
            raise DataError("the earlier fit has no direct input term: begin anew, or go on without one")
        scaler, told = direct_units(data, True if self.always else None, run, ORDERS)
        if told:
            run.say(told)
        stopped = run.interrupted
        made = self.method.fit(data if scaler is data.scaler else data.scaled_by(scaler), run, key=key)
        made = made.ended(Result.interrupted) if stopped else made
        return (made.with_event(told) if told else made).by(self)
