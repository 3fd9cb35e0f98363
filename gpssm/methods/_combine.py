"""Methods made of methods: the best of several, and mixtures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._history import History
from gpssm._core._random import split
from gpssm._core._result import FitError, Result
from gpssm.evaluate import AbstractFolds, judge
from gpssm.evaluate._select import select_within
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.predict import MixturePredictor

Named = Mapping[str, AbstractMethod]


class BestOf(AbstractMethod):
    """Fit several methods and keep the best.

    The best has the highest log-density in free runs over the validation episodes, where there are any; else the
    highest bound, where all have one; else `gpssm.select` chooses before anything is fitted to all data. All get the
    same key.
    """

    methods: tuple[AbstractMethod, ...]

    def __init__(self, *methods: AbstractMethod):
        if not methods:
            raise ValueError("no methods to choose from: write BestOf(first, second)")
        self.methods = methods

    @property
    def deterministic(self) -> bool:
        return all(method.deterministic for method in self.methods)

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Fit all, or choose and fit one."""
        fits: list[Fit] = []
        for i, method in enumerate(self.methods):
            run.say(f"method {i + 1} of {len(self.methods)}: {method}")
            fits.append(method.fit(data, run.within(str(i + 1)), key=key))
            if fits[-1].result is Result.interrupted:
                break
        return best_of(fits, data, run, self, key)


class Mixture(AbstractMethod):
    """Several methods, fitted each with a key of its own, as one mixture."""

    members: Named | Sequence[AbstractMethod]
    weights: Sequence[float] | None = None
    """Shares of the members; equal if not given."""
    width: float = 1.0
    """Factor for the spread of each member's trajectories around their median."""

    def __check_init__(self) -> None:
        if not len(self.members):
            raise ValueError("a mixture needs at least one member")
        if self.weights is not None and len(self.weights) != len(self.members):
            raise ValueError(f"{len(self.weights)} weights for {len(self.members)} members: give one for each")

    @property
    def deterministic(self) -> bool:
        return all(method.deterministic for method in self._methods())

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Fit all members. After Ctrl-C the mixture is that of the finished ones."""
        methods, fits = self._methods(), []
        keys = split(key, len(methods))
        for i, (method, member_key) in enumerate(zip(methods, keys, strict=True)):
            run.say(f"member {i + 1} of {len(methods)}: {method}")
            fits.append(method.fit(data, run.within(str(i + 1)), key=member_key))
            if fits[-1].result is Result.interrupted:
                break
        stopped = fits[-1].result is Result.interrupted
        kept = fits[:-1] if stopped and len(fits) > 1 else fits
        bad = [fit for fit in kept if fit.result is Result.diverged]
        weights = None if self.weights is None else tuple(float(w) for w in self.weights[: len(kept)])
        if weights is not None and sum(weights) <= 0.0:
            weights = None
        system = MixturePredictor(tuple(fit.system for fit in kept), weights, self.width)
        history = History(float(data.episodes.num_steps), seconds=sum(fit.history.seconds for fit in fits))
        history.events += [f"{fit.method}: {event}" for fit in fits for event in fit.history.events]
        result = Result.interrupted if stopped else Result.diverged if bad else Result.finished
        return Fit.of(system, self, result, history, parts=tuple(fits))

    def _methods(self) -> tuple[AbstractMethod, ...]:
        return tuple(self.members.values()) if isinstance(self.members, Mapping) else tuple(self.members)


class Stacked(AbstractMethod):
    """A mixture whose shares and width make what was held out most likely (`Selection.stacked`), fitted to all data."""

    members: Named
    folds: AbstractFolds | None = None
    seeds: int = 1
    smallest: float = 0.02
    """Members with a smaller share are left out: each would cost a fit and change next to nothing."""

    def __check_init__(self) -> None:
        if not self.members:
            raise ValueError("a mixture needs at least one member")

    @property
    def deterministic(self) -> bool:
        return False

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Judge all members on parts of the data, then fit those that have a share."""
        select_key, stack_key, fit_key = split(key, 3)
        found = select_within(
            run.within("select"),
            self.members,
            data.episodes,
            folds=self.folds,
            seeds=self.seeds,
            units=data.direct,
            key=select_key,
        )
        if found.interrupted:
            first = next(iter(self.members.values()))
            kept = first.fit(data, run.within("1"), key=fit_key)
            return kept.ended(Result.interrupted).by(self)
        shares = found.stacked(key=stack_key)
        chosen = shares.above(self.smallest)
        if not chosen:
            raise FitError("no member of the mixture has a share worth a fit")
        told = ", ".join(f"{name} {100 * share:.0f} %" for name, share in chosen.items())
        run.say(f"{found.table()}\nmixture: {told}; width of bands {shares.width:.2f}")
        members = {name: self.members[name] for name in chosen}
        made = Mixture(members, tuple(chosen.values()), shares.width).fit(data, run.within("mixture"), key=fit_key)
        return made.with_event(f"mixture: {told}; width of bands {shares.width:.3g}").by(self)


def best_of(fits: list[Fit], data: Prepared, run: Run, method: AbstractMethod, key: PRNGKeyArray) -> Fit:
    """The best of some fits to the same data, with all of them in its parts."""
    finished = [fit for fit in fits if fit.result.good]
    stopped = fits[-1].result is Result.interrupted
    if not finished:
        best = fits[0]
    elif len(finished) == 1:
        best = finished[0]
    else:
        values, by = compared(finished, data, run, key)
        best = finished[int(np.argmax(values))]
        told = ", ".join(f"{fit.method}: {value:.4f}" for fit, value in zip(finished, values, strict=True))
        event = f"best of {len(finished)} by {by}: {told}"
        run.say(event)
        best = best.with_event(event)
    best = best.ended(Result.interrupted) if stopped else best
    return replace(best.by(method), parts=tuple(fits))


def _direct(fit: Fit) -> str:
    """What tells units with one direct term from those with another, or with none."""
    direct = fit.system.direct
    return "" if direct is None else str(direct.to_dict())


def compared(fits: list[Fit], data: Prepared, run: Run, key: PRNGKeyArray) -> tuple[list[float], str]:
    """A number for each fit, higher being better, and what it is."""
    if data.validation is not None:
        densities = [judge(fit.system, data.validation, key=key).free_run.log_density for fit in fits]
        values = [value if np.isfinite(value) else -np.inf for value in densities]
        return values, "log density of free runs over the validation episodes"
    bounds = [fit.bound for fit in fits]
    # With another direct term they are about other outputs.
    if np.isfinite(bounds).all() and len({_direct(fit) for fit in fits}) == 1:
        return bounds, "bound a step"
    methods = {str(i): fit.method for i, fit in enumerate(fits)}
    found = select_within(run.within("select"), methods, data.episodes, units=data.direct, key=key)
    values = [row.value for row in found.rows()]
    return values, "free runs over parts of the training data that were held out"
