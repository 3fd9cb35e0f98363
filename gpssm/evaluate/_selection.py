"""What a selection found: scores for each candidate, block and seed, their averages, and the winner."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from gpssm.evaluate._held_out import HeldOut
from gpssm.evaluate._score import Score
from gpssm.evaluate._stacking import Shares, stack, stacking_gain
from gpssm.fitting import AbstractMethod

MAX_SHORTFALL = 0.1
"""Never give up more than this for simplicity, in nats a sample: about ten per cent of the error."""
NEGLIGIBLE = 0.02
"""Always give up as little as this for simplicity, however certain the difference is."""


@final
@dataclass(frozen=True)
class Trial:
    """How one candidate did on one fold with one seed."""

    candidate: str
    fold: str
    seed: int
    log_density: float
    """Mean log-density of the held-out outputs in a free run, standardised units; minus infinity if it failed."""
    error: float
    """Root mean squared error of the free run in standard deviations of the outputs; infinity if it failed."""
    failed: str | None = None
    """Why there is no score."""
    seconds: float = field(default=0.0, compare=False)
    """How long the fit and the free run took."""
    held_out: HeldOut | None = field(default=None, compare=False, repr=False)
    """What the free run missed in each held-out step; None if it failed."""
    score: Score | None = field(default=None, compare=False, repr=False)
    """The free run as console and report would score it; None if it failed."""

    @property
    def value(self) -> float:
        """Half of log-density minus log-error.

        Minus the logarithm of the error is itself a log-density up to a constant, that of a Gaussian with the same
        spread everywhere; the average asks for accuracy and for honest bands, in the same unit.
        """
        return -np.inf if self.failed else 0.5 * (self.log_density - float(np.log(max(self.error, 1e-12))))

    @property
    def fit_percent(self) -> float:
        """100 is perfect, 0 is as good as a constant."""
        return float("nan") if self.score is None else self.score.fit_overall

    @property
    def coverage95(self) -> float:
        """Share of the measurements inside the 95 % band."""
        return float("nan") if self.score is None else self.score.coverage95

    def line(self) -> str:
        """One line for people."""
        told = f"failed: {self.failed}" if self.failed else f"value {self.value:.3f}, fit {self.fit_percent:.1f} %"
        return f"{self.candidate}, {self.fold}, seed {self.seed}: {told} ({self.seconds:.1f} s)"


@final
@dataclass(frozen=True)
class Row:
    """One candidate over all folds and seeds. Standard errors are over folds, seeds averaged first."""

    candidate: str
    value: float
    value_se: float
    log_density: float
    log_density_se: float
    error: float
    error_se: float
    fit_percent: float
    """Of the free runs: 100 is perfect, 0 is as good as a constant."""
    coverage95: float
    """Share of the measurements inside the 95 % band."""
    shortfall: float
    """How far the value lies below that of the best candidate."""
    shortfall_se: float
    """Standard error of the shortfall, from the differences fold by fold."""
    acceptable: bool
    """Whether the shortfall is within its standard error, or negligible."""
    failed: tuple[str, ...]
    """Reasons for runs that failed."""


@final
@dataclass(frozen=True)
class Selection:
    """Trials of all candidates, in the order in which they were given: simplest first."""

    methods: Mapping[str, AbstractMethod]
    """The candidates by name."""
    trials: tuple[Trial, ...]
    interrupted: bool = False
    """Whether some trials were not made because the user wanted it to end."""

    @property
    def candidates(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.methods)

    @property
    def method(self) -> AbstractMethod:
        """The winner, ready for `gpssm.fit`."""
        if self.winner is None:
            reasons = {trial.failed for trial in self.trials if trial.failed}
            raise ValueError(f"all candidates failed: {'; '.join(sorted(reasons))}")
        return self.methods[self.winner]

    @property
    def best(self) -> str | None:
        """The candidate with the largest average value; None if all failed."""
        finished = [name for name in self.candidates if not self._unfinished(name)]
        values = {name: self._by_fold(name, "value").mean() for name in finished}
        alive = [name for name in finished if np.isfinite(values[name])]
        return max(alive, key=lambda name: values[name]) if alive else None

    @property
    def winner(self) -> str | None:
        """The simplest candidate that is no worse than the best by more than one standard error (but never by more than
        0.1 nats a sample, and always if it is by less than 0.02); None if all failed."""
        return next((row.candidate for row in self.rows() if row.acceptable), None)

    def stacked(self, *, draws: int = 100, key: PRNGKeyArray) -> Shares:
        """The mixture of candidates that makes what was held out most likely: the share of each, and how wide.

        Where no candidate is clearly best, a mixture is a safer choice than any. Candidates that failed have no
        share in it. `draws` of a Bayesian bootstrap over folds keep a few folds from deciding alone.
        """
        alive, runs = self._alive()
        weights, width = stack(runs, draws=draws, key=key)
        shares = dict(zip(alive, weights.tolist(), strict=True))
        return Shares({name: shares.get(name, 0.0) for name in self.candidates}, width)

    def gain_by_stacking(self, alone: str, *, draws: int = 100, key: PRNGKeyArray) -> float:
        """By how many nats a step a held-out part is likelier under the mixture that the other parts ask for than under
        one candidate alone."""
        alive, runs = self._alive()
        return stacking_gain(runs, alive.index(alone), draws=draws, key=key)

    def _alive(self) -> tuple[list[str], list[list[list[HeldOut]]]]:
        """Candidates that did not fail, and for each fold the runs of each of them."""
        failed = {trial.candidate for trial in self.trials if trial.failed}
        alive = [name for name in self.candidates if name not in failed and not self._unfinished(name)]
        if not alive:
            raise ValueError("all candidates failed: there is nothing to mix")
        folds = dict.fromkeys(score.fold for score in self.trials)
        return alive, [[self._runs(name, fold) for name in alive] for fold in folds]

    def rows(self) -> tuple[Row, ...]:
        """A summary for each candidate."""
        best = self.best
        reference = None if best is None else self._by_fold(best, "value")
        return tuple(self._row(name, reference) for name in self.candidates)

    def table(self, chosen: str | None = None) -> str:
        """The summary as text; `>` marks the winner, or what somebody has chosen by another rule, `*` the best
        average."""
        chosen = self.winner if chosen is None else chosen
        width = max(len("candidate"), *(len(name) for name in self.candidates))
        heads = "".join(f"  {head:>15}" for head in ("value", "log density", "error", "shortfall"))
        lines = [f"  {'candidate':<{width}}{heads}  {'fit %':>6}  {'in band':>7}"]
        for row in self.rows():
            mark = (">" if row.candidate == chosen else " ") + ("*" if row.candidate == self.best else " ")
            if row.failed:
                lines.append(f"{mark}{row.candidate:<{width}}  failed: {row.failed[0]}" + _more(row.failed))
                continue
            cells = [
                f"{mean:8.3f} ± {se:5.3f}"
                for mean, se in (
                    (row.value, row.value_se),
                    (row.log_density, row.log_density_se),
                    (row.error, row.error_se),
                    (row.shortfall, row.shortfall_se),
                )
            ]
            cells.append(f"{row.fit_percent:6.1f}  {100 * row.coverage95:5.1f} %")
            lines.append(f"{mark}{row.candidate:<{width}}  " + "  ".join(f"{cell:>15}" for cell in cells))
        return "\n".join(lines)

    def records(self) -> list[dict[str, object]]:
        """All trials as plain dictionaries, for a data frame."""
        names = ("candidate", "fold", "seed", "log_density", "error", "failed", "seconds")
        numbers = ("value", "fit_percent", "coverage95")
        return [{name: getattr(trial, name) for name in (*names, *numbers)} for trial in self.trials]

    def _runs(self, name: str, fold: str) -> list[HeldOut]:
        """The free runs of all seeds over a fold."""
        found = [score.held_out for score in self.trials if score.candidate == name and score.fold == fold]
        kept = [run for run in found if run is not None]
        if len(kept) < len(found):
            raise ValueError(f"the scores of '{name}' do not say what was missed in single steps")
        return kept

    def _unfinished(self, name: str) -> bool:
        """Whether an interruption came before it was tried on every fold."""
        tried = {trial.fold for trial in self.trials if trial.candidate == name}
        return not tried or tried < {trial.fold for trial in self.trials}

    def _by_fold(self, name: str, field: str) -> Float[np.ndarray, " F"]:
        """Average over seeds for each fold, in the order of the folds."""
        mine = [score for score in self.trials if score.candidate == name]
        folds = dict.fromkeys(score.fold for score in mine)
        return np.asarray([np.mean([getattr(s, field) for s in mine if s.fold == fold]) for fold in folds])

    def _row(self, name: str, reference: Float[np.ndarray, " F"] | None) -> Row:
        failed = tuple(score.failed for score in self.trials if score.candidate == name and score.failed)
        if self._unfinished(name):
            failed = (*failed, "interrupted before it was tried on everything")
        numbers: dict[str, float] = {}
        for quantity in ("value", "log_density", "error"):
            numbers[quantity], numbers[f"{quantity}_se"] = _mean_and_se(self._by_fold(name, quantity))
        shortfall, shortfall_se = np.inf, np.inf
        if reference is not None and not failed:
            shortfall, shortfall_se = _mean_and_se(reference - self._by_fold(name, "value"))
        acceptable = bool(np.isfinite(shortfall) and shortfall <= max(min(shortfall_se, MAX_SHORTFALL), NEGLIGIBLE))
        return Row(
            candidate=name,
            **numbers,
            fit_percent=_mean_known(self._by_fold(name, "fit_percent")),
            coverage95=_mean_known(self._by_fold(name, "coverage95")),
            shortfall=float(shortfall),
            shortfall_se=float(shortfall_se),
            acceptable=acceptable,
            failed=failed,
        )


def _mean_known(values: Float[np.ndarray, " F"]) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def _mean_and_se(values: Float[np.ndarray, " F"]) -> tuple[float, float]:
    if not len(values):
        return float("nan"), np.inf
    if not np.isfinite(values).all():
        return float(values.mean()), np.inf
    spread = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(values.mean()), float(spread)


def _more(failed: tuple[str, ...]) -> str:
    return f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
