"""`Polished`: the GP state-space model with sensible everything."""

from collections.abc import Sequence
from dataclasses import replace

import jax.random as jr
from jaxtyping import PRNGKeyArray

from gpssm._core._distributed import broadcast_from_first
from gpssm._core._result import Result
from gpssm.data import DataError, Episodes
from gpssm.evaluate import judge
from gpssm.evaluate._select import select_within
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.fitting._method import left_over
from gpssm.inference import Collapsed, MonteCarlo, NaturalGradient, default_rule
from gpssm.inference._defaults import coarse_rule
from gpssm.kernels._abstract import AbstractKernel
from gpssm.methods._model_spec import ModelSpec
from gpssm.methods._q_x import Network, PerStep, reader_of
from gpssm.methods._variational import Variational, bound_of, distilled
from gpssm.optimisers import LBFGS, Adam, FullBatch, MetricLBFGS, Windows
from gpssm.predict import System

NEGLIGIBLE = 0.02
"""Nats a sample by which free runs may become worse without being given up for it."""
COARSE = 0.01
"""Nats a step by which the bound on few nodes may be off."""
LONG = 20_000
"""From this many time steps on, training sees windows instead of all data at once."""


class Polished(AbstractMethod):
    """A GP state-space model with sensible everything.

    A recognition network and the model are trained together with q(u) at its optimum, then all states are polished
    without the network; the same from states that the data show, and the better of the two is kept. The polish takes
    expectations over a state on few nodes, and goes on with more where those put the bound elsewhere. Records with more
    than 20 000 steps in all are trained on windows instead. Several numbers of states are compared by `gpssm.select`.

    Validation episodes act: should the polish make free runs over them worse, the model before it is kept (`method` of
    the fit has `iterations=0` then), and where the model runs freely over them poorly, other seeds are tried.

    From an earlier fit with as many states (`start=`, `then`), to these records or others, only the polish is made.
    """

    states: int | Sequence[int] | None = None
    """Hidden states: a number, several to choose from, or None for one more than there are outputs."""
    kernel: AbstractKernel | Sequence[AbstractKernel] | str | None = None
    num_inducing: int = 50
    hidden: int = 32
    """Size of the network."""
    steps: int = 800
    """Steps of Adam."""
    iterations: int = 150
    """Iterations of the polishing by L-BFGS that follows; 0 leaves it out."""
    network_steps: int = 400
    """Steps in which the network follows the polished model; 0 drops it."""
    tries: int = 3
    """Up to this many seeds are tried while the model is poor on the validation episodes."""
    metric: bool = True
    """Polish in the metric of the states' own posterior, which ends higher; False is plain L-BFGS."""

    def __check_init__(self) -> None:
        for name, least in (("steps", 1), ("iterations", 0), ("network_steps", 0), ("tries", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)}: need at least {least}")

    @property
    def deterministic(self) -> bool:
        return False

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Choose the number of states if that was asked for, and fit."""
        if self.states is not None and not isinstance(self.states, int):
            return self._chosen(tuple(self.states), data, run, key)
        states = data.episodes.num_outputs + 1 if self.states is None else self.states
        return self._tried(states, data, run, key)

    def _chosen(self, states: tuple[int, ...], data: Prepared, run: Run, key: PRNGKeyArray) -> Fit:
        """By free runs over parts of the training data that are held out, then a fit to all of it."""
        candidates = {f"{n} states": replace(self, states=n, tries=1, network_steps=0) for n in states}
        choice = select_within(run.within("select"), candidates, data.episodes, units=data.direct, key=key)
        if choice.interrupted:
            fitted = self._tried(states[0], data, run, key)
            return fitted.ended(Result.interrupted).by(self)
        winner = choice.method
        assert isinstance(winner, Polished) and isinstance(winner.states, int)
        run.say(f"{choice.table()}\nchosen: {winner.states} states")
        fitted = self._tried(winner.states, data, run, key)
        return fitted.with_event(f"{winner.states} states, chosen among {', '.join(map(str, states))}").by(self)

    def _tried(self, states: int, data: Prepared, run: Run, key: PRNGKeyArray) -> Fit:
        """Several seeds, while the model is poor on what it was not trained on."""
        made: list[tuple[float, Fit]] = []
        for attempt, seed in enumerate(_seeds(key, self.tries)):
            inner = run if attempt == 0 else run.within(f"try{attempt + 1}")
            if attempt:
                run.say("The last model is poor on the validation episodes; trying again with another seed")
            fitted = self._once(states, data, inner, seed)
            if data.validation is None or fitted.result is Result.interrupted:
                made.append((float("-inf"), fitted))
                break
            score = judge(fitted.system, data.validation).free_run
            made.append((score.value, fitted))
            if broadcast_from_first(b"again" if score.poor else b"enough") == b"enough":
                break
        best = max(made, key=lambda pair: pair[0])[1]
        if made[-1][1].result is Result.interrupted:
            best = best.ended(Result.interrupted)
        return replace(best, parts=tuple(fitted for _, fitted in made) if len(made) > 1 else best.parts)

    def _polish(self, spec: ModelSpec, data: Prepared, run: Run, key: PRNGKeyArray) -> Fit:
        """On few nodes of each state; on more, should those not have been enough."""
        search = MetricLBFGS(self.iterations) if self.metric else LBFGS(self.iterations)
        few, more = coarse_rule(spec.states), default_rule(spec.states)
        made = Variational(spec, q_x=PerStep(), expectation=few, optimiser=search).fit(data, run, key=key)
        if few == more or not made.result.good or made.result is Result.interrupted:
            return made
        off = abs(made.bound - bound_of(made, more, data))
        if broadcast_from_first(b"fine" if off <= COARSE else b"coarse") == b"fine":
            return made
        event = f"a finer rule puts the bound {off:.3f} a step off: polished once more with that"
        run.say(event)
        finer = Variational(spec, q_x=PerStep(), expectation=more, optimiser=search)
        return finer.fit(data.after(made), run.within("finer"), key=key).following(made).with_event(event)

    def _once(self, states: int, data: Prepared, run: Run, key: PRNGKeyArray) -> Fit:
        spec = ModelSpec(states, kernel=self.kernel, num_inducing=self.num_inducing)
        long = data.episodes.num_steps > LONG
        if data.start is not None and not isinstance(data.start.system, System):
            raise DataError(f"Polished cannot go on from a {type(data.start.system).__name__}: leave start= out")
        if data.start is not None and not long and self.iterations:
            return self._polish(spec, data, run.within("2"), left_over(key)).by(self)
        windows = Windows(length=max(2, min(200, data.episodes.max_length)), size=8)
        network = Variational(
            spec,
            q_x=Network(self.hidden),
            q_u=NaturalGradient(0.1) if long else Collapsed(),
            expectation=MonteCarlo(1),
            optimiser=Adam(self.steps, batches=windows if long else FullBatch()),
        )
        first = network.trained(data, run.within("1"), key=key).by(self)
        if long or self.iterations == 0 or first.result is Result.interrupted:
            return first
        second = self._polish(spec, data.after(first), run.within("2"), left_over(key))
        if second.result is not Result.interrupted:
            run.say("second start: states guessed from the data")
            # The same first model, because it comes from the same key.
            third = self._polish(spec, data.afresh(), run.within("3"), key)
            second = _higher(second, third, run)
        made = replace(second.following(first).by(self), parts=(first,))
        if made.result is Result.interrupted:
            return made
        if data.validation is not None and _is_worse(made, first, data.validation):
            event = "the polish made free runs over the validation episodes worse: kept the model before it"
            run.say(event)
            return first.with_event(event).by(replace(self, iterations=0))
        reader = reader_of(first)
        if self.network_steps and reader is not None:
            made = distilled(made, reader, self.network_steps, data, run.within("4"), key=left_over(key))
        return made


def _seeds(key: PRNGKeyArray, tries: int) -> list[PRNGKeyArray]:
    """The key itself, and others made from it."""
    return [key, *(jr.fold_in(key, attempt) for attempt in range(1, tries))]


def _is_worse(later: Fit, earlier: Fit, validation: Episodes) -> bool:
    """Whether free runs became worse, by the same reader of states in both. Of several processes one decides."""
    values = [judge(fit.system, validation).free_run.value for fit in (later, earlier)]
    worse = values[0] < values[1] - NEGLIGIBLE
    return broadcast_from_first(b"worse" if worse else b"fine") == b"worse"


def _higher(first: Fit, second: Fit, run: Run) -> Fit:
    """Of two polished starts the one that ended at the higher bound: on the way there, few nodes may have promised
    more. An interrupted or failed one does not count."""
    if not second.result.good or not len(second.history.bound):
        return first if second.result is not Result.interrupted else first.ended(second.result)
    ends = first.bound if first.result.good else float("-inf"), second.bound
    chosen, where = (first, "the network's states") if ends[0] >= ends[1] else (second, "states guessed from the data")
    event = f"two starts ended at {ends[0]:.4f} and {ends[1]:.4f} a step: kept the one from {where}"
    run.say(event)
    return chosen.with_event(event)
