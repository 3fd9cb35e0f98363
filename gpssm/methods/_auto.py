"""`Auto`: several methods tried, from simple to rich, and the one that predicts best kept."""

from collections.abc import Sequence
from dataclasses import replace

import equinox as eqx
import jax.random as jr
from jaxtyping import PRNGKeyArray

from gpssm._core._history import History
from gpssm._core._result import Result
from gpssm.evaluate._trial import FAILURES, reason
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.fitting._interrupt import InterruptedFitError
from gpssm.methods._around_linear import AroundLinear
from gpssm.methods._choice import because, chosen, mixture
from gpssm.methods._constant import Constant
from gpssm.methods._expected_time import Budget
from gpssm.methods._magnitudes import look_like_magnitudes
from gpssm.methods._model_spec import ModelSpec
from gpssm.methods._polished import Polished
from gpssm.methods._tried import Tried, stretches
from gpssm.methods.autoregressive import ARX
from gpssm.methods.linear import Linear, Subspace
from gpssm.methods.marginal import Marginal
from gpssm.methods.output_error import OutputError
from gpssm.models import Magnitude
from gpssm.pools import AbstractPool, Serial
from gpssm.predict import LinearPredictor, MixturePredictor

FEW = 200
"""Up to so many steps there is little to learn from: GPs are tried with one number of states only, and without the
polish, which a hundred samples let memorise them."""
MARGINAL_STEPS = 5000
"""Up to so many steps, `Marginal` is tried: it takes all of them at once."""
WORSE = 0.1
"""A fit to all data that predicts the stretches worse by more than this, in nats a sample, and by more than a standard
error, than the fit that had not seen them has ended in a poor optimum."""
HOPELESS = 0.7
"""A kind of model that is this far behind, in nats a sample (twice the error), is not tried with other states."""
EFFORTS = ("quick", "normal", "thorough")


class Auto(AbstractMethod):
    """Try several methods, from simple to rich, and keep the one whose free runs are best.

    Several stretches of the records are held out at once. Every method is fitted without them, and judged by free runs
    over each. Accuracy comes first: of the methods that err by no more than any of the simple ones, and by at most 5 %
    more than the best, the one is kept whose value is highest (half of log-density less log-error, as in
    `gpssm.select`, at the width of bands that the stretches ask for). It goes on to everything from where it stands,
    and is checked against its own first fit. Its free runs get bands as wide as the stretches ask for, where that is
    wider than its own. What is tried depends on `effort`, or on the `minutes` that there are, on
    the number of outputs and on how much there is to learn from, never on the clock: the same seed gives the same
    model.

    - `"quick"`: a constant, linear state-space models by subspace identification, linear autoregressions. Seconds.
    - `"normal"`: also GP state-space models, fitted to free runs (`OutputError`) and to single steps (`Polished`);
      where outputs look like magnitudes of something that has a sign, that as well.
    - `"thorough"`: also the most likely linear model, GPs with one state more, and other seeds; up to 5000 steps, GPs
      with the states integrated out (`Marginal`), one of them around a linear system; and a mixture, where held-out
      stretches are more likely under one.
    """

    states: int | Sequence[int] | None = None
    """Hidden states: a number, several to choose from, or None to begin with what the linear model needs."""
    effort: str = eqx.field(static=True, default="normal")
    """How much is tried: quick, normal or thorough."""
    gp: Polished = Polished(steps=400, iterations=40, network_steps=0)
    """How a GP state-space model is trained on single steps; its number of states is chosen here. The network is a
    start for the polish, as good a one with half of its usual steps: on held-out stretches of three training halves,
    two seeds each, values changed by -0.02 +- 0.03. The polish is short, because the winner is polished once more on
    all records."""
    minutes: float | None = eqx.field(static=True, default=None)
    """Of what `effort` asks for, only as much is tried as is expected to take so long on one core of a usual machine.
    The simple methods are tried in any case."""

    pool: AbstractPool = eqx.field(static=True, default=Serial())
    """With `ProcessPool(2)` GPs are fitted side by side in processes, as many as there are: two, if not `thorough`. But
    for rounding, the model is the same in however many. A script needs `if __name__ == "__main__":`, because every
    process imports it. Ctrl-C is heard by all of them; a signal to this process alone waits for the fits under way."""

    def __check_init__(self) -> None:
        if self.effort not in EFFORTS:
            raise ValueError(f"effort={self.effort!r}: choose quick, normal or thorough")
        if any(states < 1 for states in self._asked()):
            raise ValueError(f"states={self.states}: need at least one")
        if self.minutes is not None and not self.minutes > 0.0:
            raise ValueError(f"minutes={self.minutes}: must be positive")

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
        tried = Tried.of(folds, n_init, data, run, key)
        try:
            self._try_all(tried, data)
        except InterruptedFitError:
            return tried.as_it_stands(self, data, key)
        return self._final(tried, data, run, key)

    def _try_all(self, tried: Tried, data: Prepared) -> None:
        asked, outputs, thorough = self._asked(), data.episodes.num_outputs, self.effort == "thorough"
        budget = Budget(None if self.minutes is None else 60.0 * self.minutes, data.episodes.num_steps)
        tried.attempt("constant", Constant())
        found = self._try_linear(tried, asked, outputs, data)
        few = data.episodes.num_steps <= FEW and not thorough
        enough = min(max(found, outputs), outputs + (1 if few else 2))
        states = asked or tuple(sorted({enough} if few else {outputs + 1, enough}))
        lags = max(states)
        for count in (lags, 2 * lags):
            tried.attempt(f"arx {count}", ARX(count))
        tried.simple = frozenset(tried.methods)
        if self.effort == "quick":
            return
        more = (*states, max(states) + 1) if thorough else states
        best = self._try_free_runs(tried, more, budget)
        if look_like_magnitudes(data.episodes) and tried.scaler.direct is None:
            self._try_magnitudes(tried, asked or ((outputs + 1,) if few else (outputs + 1, outputs + 2)), budget)
        rich: dict[str, AbstractMethod] = {}
        for count in more if thorough else (best,):
            if budget.allows("gp", times=float(count)):
                gp = self._gp((count,))
                rich[f"gp {count}"] = replace(gp, iterations=0) if few else gp
        if thorough and data.episodes.num_steps <= MARGINAL_STEPS:
            rich |= self._marginal(best, budget)
        if thorough and budget.allows("most likely linear"):
            rich["most likely linear"] = Linear(min(lags, 6))
        tried.attempt_each(rich, self.pool)

    def _try_linear(self, tried: Tried, asked: tuple[int, ...], outputs: int, data: Prepared) -> int:
        """The order that was found. Where inputs clearly act at once, everything that follows knows how."""
        linear = tried.attempt("linear", Subspace(asked or None))
        if data.episodes.num_inputs and data.direct is None:
            direct = tried.attempt("linear, direct", Subspace(asked or None, direct=True))
            if direct is not None and tried.clearly_better("linear, direct", "linear"):
                tried.run.say("inputs act on outputs of their own step: all that follows has a direct input term")
                assert direct.system.direct is not None
                linear, tried.scaler = direct, direct.system.direct
        return linear.system.system.order if linear and isinstance(linear.system, LinearPredictor) else outputs + 1

    def _try_free_runs(self, tried: Tried, states: tuple[int, ...], budget: Budget) -> int:
        """The number of states that is best for it, or the first where there is no time for it."""
        methods = {
            f"output error {count}": OutputError(count, num_inducing=self._few_points)
            for count in states
            if budget.allows("output error", times=float(count))
        }
        tried.attempt_each(methods, self.pool, until=lambda name: tried.value(name) < tried.best_value - HOPELESS)
        values = {method.states: tried.value(name) for name, method in methods.items() if name in tried.trials}
        return max(values, key=lambda count: values[count]) if values else states[0]

    def _try_magnitudes(self, tried: Tried, states: tuple[int, ...], budget: Budget) -> None:
        """A sensor without sign: states of which what is measured is the magnitude. None of the others can know."""
        methods = {
            f"output error {count}, magnitudes": OutputError(count, num_inducing=self._few_points, emission=Magnitude)
            for count in states
            if budget.allows("magnitudes", times=float(count))
        }
        if methods:
            tried.run.say("outputs are never negative and come down to zero: also tried as magnitudes")
        tried.attempt_each(methods, self.pool)

    def _marginal(self, states: int, budget: Budget) -> dict[str, AbstractMethod]:
        """From outputs as states, and from a linear system: each is ahead on some records."""
        plain = ModelSpec(states, kernel=self.gp.kernel, num_inducing=self._few_points)
        around = AroundLinear(states, num_inducing=self._few_points)
        begins = (("marginal", "marginal", plain), ("marginal around linear", "watched", around))
        return {
            f"{name} {states}": Marginal(begin)
            for name, kind, begin in begins
            if budget.allows(kind, times=float(states))
        }

    @property
    def _few_points(self) -> int:
        """Inducing points of everything but the GP on single steps."""
        return min(30, self.gp.num_inducing)

    def _gp(self, states: tuple[int, ...]) -> Polished:
        tries = self.gp.tries if self.effort == "thorough" else 1
        return replace(self.gp, states=states[0] if len(states) == 1 else states, tries=tries)

    def _final(self, tried: Tried, data: Prepared, run: Run, key: PRNGKeyArray) -> Fit:
        selection = tried.selection()
        best = chosen(selection, tried.simple)
        if best is None:
            return tried.as_it_stands(self, data, key)
        why = because(selection, best)
        mix = mixture(selection, best, key=jr.fold_in(key, 1)) if self.effort == "thorough" else None
        shares, width = ({best: 1.0}, 1.0) if mix is None else mix
        if mix is not None:
            parts = ", ".join(f"{100 * share:.0f} % {name}" for name, share in shares.items())
            why += f"; likelier still is a mixture of {parts}"
        run.say(f"{selection.table(best)}\n{why}")
        fits: dict[str, Fit] = {}
        for name in shares:
            run.say(f"fitting {name} to all records")
            fits[name] = self._refitted(tried, name, data, run, key)
            if fits[name].result is Result.interrupted:
                break
        if mix is None:
            made = tried.widened(best, fits[best])
        elif any(fit.result is Result.interrupted for fit in fits.values()):
            # What one member came to is no mixture.
            made = tried.widened(best, fits.get(best, tried.fits[best])).ended(Result.interrupted)
        else:
            system = MixturePredictor(tuple(fit.system for fit in fits.values()), tuple(shares.values()), width)
            seconds = sum(fit.history.seconds for fit in fits.values())
            made = Fit.of(system, self, Result.finished, History(float(data.episodes.num_steps), seconds=seconds))
        told = made.with_event(why).with_event(selection.table(best))
        return replace(told.by(self), parts=tuple(tried.fits.values()))

    def _refitted(self, tried: Tried, name: str, data: Prepared, run: Run, key: PRNGKeyArray) -> Fit:
        """The method fitted to everything; its first fit, if that is better on the stretches nevertheless."""
        method, first = tried.methods[name], tried.fits[name]
        if isinstance(method, Marginal) and first.parts:
            # With as many rounds as free runs have asked for.
            method = first.parts[0].method
        data = replace(data.scaled_by(tried.learnt_in[name]), room=tried.room)
        if isinstance(method, OutputError) or (isinstance(method, Polished) and method.iterations):
            # From the model as it stands: the states of the first fit are those of other records.
            data = replace(data, start=replace(first, inference=None))
        try:
            made = method.fit(data, run.within(f"final-{name.replace(' ', '-')}"), key=key)
        except FAILURES as failure:
            event = f"fitted without the held-out stretches: with them it failed, {reason(failure)}"
            run.say(event)
            return first.with_event(event)
        if made.result is Result.interrupted:
            return first.ended(Result.interrupted)
        if tried.clearly_worse(name, made, WORSE):
            run.say("that ended in a poorer optimum: the first fit is kept, which has not seen the held-out stretches")
            return first.with_event("fitted without the held-out stretches: with them it ended in a poorer optimum")
        # Shares were found for bands as wide as those of the first fit.
        width = first.system.free_run_width
        return replace(made, system=made.system.widened(width)) if width > made.system.free_run_width else made
