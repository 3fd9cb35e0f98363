"""Methods that are fitted without some held-out stretches, and judged by free runs over them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._activity import doing
from gpssm._core._interrupt import InterruptedFitError
from gpssm._core._random import fold_in
from gpssm._core._result import FitError, Result
from gpssm.data import DataError, Episodes, Scaler
from gpssm.data._holdout import context_length
from gpssm.evaluate import Fold, Selection, Stretches, Trial
from gpssm.evaluate._trial import FAILURES, Task, failed_trial, judged_trial, numbers_of, reason
from gpssm.fitting import AbstractMethod, Fit, Prepared, Room, Run
from gpssm.methods._constant import Constant
from gpssm.methods._elsewhere import fitted_in
from gpssm.methods._polished import NEGLIGIBLE, Polished
from gpssm.pools import AbstractPool, Lost, Serial

SAMPLES = 64
"""Trajectories of each free run by which methods are judged."""
WIDTHS = tuple(float(width) for width in np.geomspace(0.5, 8.0, 25))
"""Factors for the spread of free runs that are looked at."""


@dataclass
class Tried:
    """Methods that were fitted without the held-out stretches, and how they did."""

    folds: tuple[Fold, ...]
    n_init: int
    units: Scaler
    """Those of errors: the same for all methods, whatever they learn in."""
    scaler: Scaler
    """The units in which the next methods learn."""
    room: Room
    run: Run
    key: PRNGKeyArray
    simple: frozenset[str] = frozenset()
    """Those that whatever is chosen may not be behind."""
    methods: dict[str, AbstractMethod] = field(default_factory=dict)
    learnt_in: dict[str, Scaler] = field(default_factory=dict)
    """The units of each."""
    fits: dict[str, Fit] = field(default_factory=dict)
    trials: dict[str, list[Trial]] = field(default_factory=dict)
    widths: dict[str, float] = field(default_factory=dict)
    """Of the free runs of each, in those that the model makes by itself: that under which what was held out is most
    likely."""

    @classmethod
    def of(cls, folds: tuple[Fold, ...], n_init: int, data: Prepared, run: Run, key: PRNGKeyArray) -> "Tried":
        """Nothing yet."""
        room = Room(max(len(folds[0].train), len(data.episodes)), data.episodes.num_steps)
        return cls(folds, n_init, data.scaler, data.scaler, room, run, key)

    def attempt_each(
        self,
        methods: Mapping[str, AbstractMethod],
        pool: AbstractPool,
        *,
        until: Callable[[str], bool] = lambda name: False,
    ) -> None:
        """One after the other, until one of them is reason enough to stop. In processes, all are fitted at once, and
        those are dropped that would not have been tried: but for rounding, the outcome is the same in however many.
        There, they leave no checkpoints of their own: who goes on with a fit that was broken off makes them again."""
        if isinstance(pool, Serial) or len(methods) < 2:
            for name, method in methods.items():
                self.attempt(name, method)
                if until(name):
                    return
            return
        self.run.interruption.check()
        self.run.say(f"{', '.join(methods)}: fitting in processes ...")
        began, found = time.monotonic(), dict[str, Fit | str | Lost]()
        names, train = list(methods), self._without_stretches()
        with doing(f"{len(names)} methods in processes"):
            try:
                for i, made in fitted_in(pool, [(m, train, self.key) for m in methods.values()], forgive=FAILURES):
                    found[names[i]] = made
                    self.run.say(f"{names[i]}: {len(found)} of {len(names)} done")
                    if self.run.interrupted:
                        break
            except FitError as no_process:
                if not self.fits:
                    raise
                # What was judged before is worth more than an end without anything.
                found = dict.fromkeys(names, str(no_process))
        broken_off = False
        for name, method in methods.items():
            made = found.get(name)
            if made is None or (isinstance(made, Fit) and made.result is Result.interrupted):
                broken_off = True
                continue
            self.methods[name], self.learnt_in[name] = method, self.scaler
            self._judged(name, made, began)
            if until(name):
                break
        if broken_off:
            raise InterruptedFitError

    def attempt(self, name: str, method: AbstractMethod, *, start: Fit | None = None) -> Fit | None:
        """Fit without the stretches, going on from an earlier such fit if one is given, and judge. A failure is told
        and does not end the others."""
        self.run.interruption.check()
        self.run.say(f"{name}: fitting ...")
        began = time.monotonic()
        self.methods[name], self.learnt_in[name] = method, self.scaler
        train = self._without_stretches(start)
        try:
            made = method.fit(train, self.run.within(name.replace(" ", "-")), key=self.key)
        except FAILURES as failure:
            return self._failed(name, reason(failure), began)
        return self._judged(name, made, began)

    def _without_stretches(self, start: Fit | None = None) -> Prepared:
        return Prepared.of(self.folds[0].train, scaler=self.scaler, room=self.room, start=start)

    def _judged(self, name: str, made: Fit | str | Lost, began: float) -> Fit | None:
        if not isinstance(made, Fit):
            return self._failed(name, str(made), began)
        if made.result is Result.interrupted:
            raise InterruptedFitError
        if made.result is Result.diverged:
            return self._failed(name, made.result.value, began)
        self._keep(name, made, began)
        value, failed = self.value(name), [trial.failed for trial in self.trials[name] if trial.failed]
        error = sum(trial.error for trial in self.trials[name]) / len(self.folds)
        told = f"failed: {failed[0]}" if failed else f"error {error:.3g} standard deviations, value {value:.3f}"
        self.run.say(f"{name}: {told} ({time.monotonic() - began:.1f} s)")
        return made

    def _keep(self, name: str, made: Fit, began: float) -> None:
        """The fit and how it did; of a polished model, the one before that if it clearly runs better."""
        method = self.methods[name]
        self.fits[name] = made
        self.trials[name], self.widths[name] = self._judge(name, made, began)
        if isinstance(method, Polished) and len(made.parts) == 1:
            before, width = self._judge(name, made.parts[0], began)
            if _clearly_better(before, self.trials[name]):
                self.run.say(f"{name}: runs freely better without the polish")
                self.methods[name] = replace(method, iterations=0)
                self.fits[name], self.trials[name], self.widths[name] = made.parts[0], before, width

    def _judge(self, name: str, made: Fit, began: float) -> tuple[list[Trial], float]:
        """How it did, with all spreads multiplied by the factor under which what was held out is most likely; and the
        width that this makes."""
        trials, factor = _at_best_width([judged_trial(made.system, task, began) for task in self._tasks(name)])
        return trials, factor * made.system.free_run_width

    def widened(self, name: str, made: Fit) -> Fit:
        """A fit of a method with bands of free runs as wide as the stretches asked for, and never narrower than its
        own: a few stretches can show that bands are too narrow, but hold too little of what may happen to show that
        they need not be so wide."""
        width = self.widths.get(name, 1.0)
        if width <= made.system.free_run_width:
            return made
        event = f"free runs over held-out stretches asked for bands {width:.3g} times as wide: that is their width now"
        self.run.say(event)
        return replace(made, system=made.system.widened(width)).with_event(event)

    def _failed(self, name: str, why: str, began: float) -> None:
        self.trials[name] = [failed_trial(task, why, began) for task in self._tasks(name)]
        self.run.say(f"{name}: failed: {why}")

    def _tasks(self, name: str) -> list[Task]:
        return [
            Task(
                name,
                self.methods[name],
                fold,
                0,
                self.units,
                self.n_init,
                SAMPLES,
                *numbers_of(fold_in(self.key, i)),
            )
            for i, fold in enumerate(self.folds)
        ]

    def value(self, name: str) -> float:
        """How well it did, over all stretches."""
        return _mean_value(self.trials[name])

    def clearly_better(self, ours: str, other: str) -> bool:
        """Whether one did better than another by more than a standard error over the stretches."""
        return ours in self.fits and (other not in self.fits or _clearly_better(self.trials[ours], self.trials[other]))

    @property
    def best_value(self) -> float:
        """How well the best so far did."""
        return max(self.value(name) for name in self.trials)

    def clearly_worse(self, name: str, made: Fit, by: float) -> bool:
        """Whether another fit of a method did worse than the first by so much, and by more than a standard error."""
        others, _ = self._judge(name, made, time.monotonic())
        return _clearly_better(self.trials[name], others, by)

    def selection(self) -> Selection:
        """All trials as a table."""
        return Selection(dict(self.methods), tuple(trial for trials in self.trials.values() for trial in trials))

    def as_it_stands(self, method: AbstractMethod, data: Prepared, key: PRNGKeyArray) -> Fit:
        """After Ctrl-C the best of what was judged, or the simplest thing there is."""
        judged = [name for name in self.fits if name in self.trials]
        if judged:
            best = max(judged, key=self.value)
            made = self.widened(best, self.fits[best])
        else:
            made = Constant().fit(data, replace(self.run, store=None), key=key)
        stopped = Result.interrupted if self.run.interrupted else Result.diverged
        return replace(made.ended(stopped).by(method), parts=tuple(self.fits.values()))


def _at_best_width(trials: list[Trial]) -> tuple[list[Trial], float]:
    """The trials with all spreads multiplied by the one factor under which what was held out is most likely, and the
    factor."""
    runs = [trial.held_out for trial in trials if trial.held_out is not None]
    if len(runs) < len(trials):
        return trials, 1.0
    width = max(WIDTHS, key=lambda factor: sum(float(run.log_densities(factor).sum()) for run in runs))
    means = [float(run.log_densities(width).sum() / run.known.sum()) for run in runs]
    return [replace(trial, log_density=mean) for trial, mean in zip(trials, means, strict=True)], width


def _clearly_better(ours: list[Trial], others: list[Trial], least: float = NEGLIGIBLE) -> bool:
    """By more than a standard error over the stretches, and at `least` by so much."""
    gains = np.asarray([a.value - b.value for a, b in zip(ours, others, strict=True)])
    if not np.isfinite(gains).all():
        return bool(_mean_value(ours) > _mean_value(others))
    spread = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.inf
    return bool(gains.mean() > max(least, spread))


def _mean_value(trials: list[Trial]) -> float:
    return sum(trial.value for trial in trials) / len(trials)


def stretches(episodes: Episodes) -> tuple[tuple[Fold, ...], int]:
    """What is held out, and how many samples are read before each free run; nothing where records are too short."""
    n_init = max(context_length(map(len, episodes)), 2)
    for count in (4, 2, 1):
        try:
            return Stretches(count).split(episodes, n_init=n_init), n_init
        except DataError:
            n_init = max(2, n_init // 2)
    return (), n_init
