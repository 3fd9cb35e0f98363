"""`Auto`: several methods tried, from simple to rich, and the one that predicts best kept."""

from collections.abc import Sequence
from dataclasses import replace

import equinox as eqx
from jaxtyping import PRNGKeyArray

from gpssm._core._result import Result
from gpssm.evaluate import Selection
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.fitting._interrupt import InterruptedFitError
from gpssm.methods._constant import Constant
from gpssm.methods._model_spec import ModelSpec
from gpssm.methods._polished import Polished
from gpssm.methods._tried import Tried, stretches
from gpssm.methods.autoregressive import ARX
from gpssm.methods.linear import Linear, Subspace
from gpssm.methods.marginal import Marginal
from gpssm.methods.output_error import OutputError

MARGINAL_STEPS = 5000
"""Up to so many steps, `Marginal` is tried: it takes all of them at once."""
WORSE = 0.05
"""A fit to all data that predicts the stretches worse by more than this, in nats a sample, than the fit that had not
seen them has ended in a poor optimum."""


class Auto(AbstractMethod):
    """Try several methods, from simple to rich, and keep the one whose free runs are best.

    Several stretches of the records are held out at once. Every method is fitted without them, and judged by free runs
    over each: half of log-density less log-error, as in `gpssm.select`, at the width of bands that the stretches ask
    for, so that a model is not lost for bands that are too narrow. The best is fitted to everything and checked
    against its own first fit. What is tried depends on `effort`, on the number of outputs and on how much there is to
    learn from, never on the clock: the same seed gives the same model.

    - `"quick"`: a constant, linear state-space models by subspace identification, linear autoregressions. Seconds.
    - `"normal"`: also GP state-space models, fitted to free runs (`OutputError`) and to single steps (`Polished`).
    - `"thorough"`: also the most likely linear model, GPs with one state more, and other seeds; and, up to 5000 steps,
      a GP with the states integrated out (`Marginal`).
    """

    states: int | Sequence[int] | None = None
    """Hidden states: a number, several to choose from, or None to begin with what the linear model needs."""
    effort: str = eqx.field(static=True, default="normal")
    """How much is tried: quick, normal or thorough."""
    gp: Polished = Polished()
    """How a GP state-space model is trained on single steps; its number of states is chosen here."""

    def __check_init__(self) -> None:
        if self.effort not in ("quick", "normal", "thorough"):
            raise ValueError(f"effort={self.effort!r}: choose quick, normal or thorough")
        if any(states < 1 for states in self._asked()):
            raise ValueError(f"states={self.states}: need at least one")

    @property
    def deterministic(self) -> bool:
        return self.effort == "quick"

    def _asked(self) -> tuple[int, ...]:
        if self.states is None:
            return ()
        return (self.states,) if isinstance(self.states, int) else tuple(self.states)

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Try, judge, and fit the best to everything."""
        data = data.afresh()
        if run.devices is not None and run.devices.num_processes > 1:
            # Processes share the work of one method only.
            return self._gp(self._asked() or (data.episodes.num_outputs + 1,)).fit(data, run, key=key).by(self)
        folds, n_init = stretches(data.episodes)
        if not folds:
            run.say("The records are too short to hold anything out: no methods are compared")
            return self._gp(self._asked() or (data.episodes.num_outputs + 1,)).fit(data, run, key=key).by(self)
        tried = Tried(folds, n_init, data.scaler, run, key)
        try:
            self._try_all(tried, data.episodes.num_outputs, data.episodes.num_steps)
        except InterruptedFitError:
            return tried.as_it_stands(self, data, key)
        return self._final(tried, data, run, key)

    def _try_all(self, tried: Tried, outputs: int, steps: int) -> None:
        asked = self._asked()
        tried.attempt("constant", Constant())
        linear = tried.attempt("linear", Subspace(asked or None))
        order = getattr(getattr(linear, "system", None), "system", None)
        found = outputs + 1 if order is None else order.order
        states = asked or tuple(sorted({outputs + 1, min(max(found, outputs), outputs + 2)}))
        lags = max(states)
        for count in (lags, 2 * lags):
            tried.attempt(f"arx {count}", ARX(count))
        if self.effort == "quick":
            return
        if self.effort == "thorough":
            tried.attempt("most likely linear", Linear(min(max(states), 6), simulation_weight=0.3))
            states = (*states, max(states) + 1)
        for count in states:
            tried.attempt(f"output error {count}", OutputError(count, num_inducing=min(30, self.gp.num_inducing)))
        best = max(states, key=lambda count: tried.value(f"output error {count}"))
        for count in states if self.effort == "thorough" else (best,):
            # A network to read new records with is for the model that is kept.
            tried.attempt(f"gp {count}", replace(self._gp((count,)), network_steps=0))
        if self.effort == "thorough" and steps <= MARGINAL_STEPS:
            spec = ModelSpec(best, kernel=self.gp.kernel, num_inducing=min(30, self.gp.num_inducing))
            tried.attempt(f"marginal {best}", Marginal(spec))

    def _gp(self, states: tuple[int, ...]) -> Polished:
        tries = self.gp.tries if self.effort == "thorough" else 1
        return replace(self.gp, states=states[0] if len(states) == 1 else states, tries=tries)

    def _final(self, tried: Tried, data: Prepared, run: Run, key: PRNGKeyArray) -> Fit:
        selection = tried.selection()
        if selection.best is None:
            return tried.as_it_stands(self, data, key)
        best = _simplest(selection)
        run.say(f"{selection.table()}\n{_because(selection, best)}\nfitting {best} to all records")
        method = tried.methods[best]
        if isinstance(method, Polished):
            method = replace(method, network_steps=self.gp.network_steps)
        made = method.fit(data, run.within("final"), key=key)
        first = tried.fits[best]
        if made.result is Result.interrupted:
            made = first.ended(Result.interrupted)
        elif tried.judged(best, made) < tried.value(best) - WORSE:
            run.say("that ended in a poorer optimum: the first fit is kept, which has not seen the held-out stretches")
            made = first.with_event("fitted without the held-out stretches: with them it ended in a poorer optimum")
        told = made.with_event(_because(selection, best)).with_event(selection.table())
        return replace(told.by(self), parts=tuple(tried.fits.values()))


def _simplest(selection: Selection) -> str:
    """The best; of those that are level with it, the simplest."""
    rows = {row.candidate: row for row in selection.rows() if not row.failed}
    return next(name for name, row in rows.items() if row.shortfall <= 0.005)


def _because(selection: Selection, best: str) -> str:
    rows = {row.candidate: row for row in selection.rows() if not row.failed}
    others = [row for name, row in rows.items() if name != best]
    if not others:
        return f"chosen: {best}, the only one that could be judged"
    second = max(others, key=lambda row: row.value)
    return (
        f"chosen: {best}. Running freely over {len({t.fold for t in selection.trials})} held-out stretches it errs by "
        f"{rows[best].error:.3g} standard deviations of the outputs; next is {second.candidate} with {second.error:.3g}"
    )
