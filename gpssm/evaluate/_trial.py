"""One fit of one candidate, and how well it runs free over what was held out."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import final

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray, UInt32

from gpssm._core._activity import doing
from gpssm._core._precision import double_precision
from gpssm._core._random import fold_in, split
from gpssm._core._result import FitError, Result
from gpssm.data import Scaler
from gpssm.evaluate._folds import Fold
from gpssm.evaluate._held_out import HeldOut
from gpssm.evaluate._score import Score, score
from gpssm.evaluate._selection import Trial
from gpssm.fitting import AbstractMethod, Prepared, Run
from gpssm.fitting._interrupt import InterruptedFitError, Interruption
from gpssm.fitting._store import Store
from gpssm.predict import AbstractPredictor, Rollout

FAILURES = (ValueError, ArithmeticError, RuntimeError, np.linalg.LinAlgError)
"""What a fit that goes wrong may raise."""
MISTAKES = (TypeError, AttributeError, LookupError, AssertionError, MemoryError, OSError)
"""What a mistake in a method's code raises. In a table that takes hours, one mistake should not be the end of the
others."""


@final
@dataclass(frozen=True)
class Task:
    """Everything that one trial needs, in a form that can be sent to another process."""

    name: str
    method: AbstractMethod
    fold: Fold
    seed: int
    scaler: Scaler
    n_init: int
    num_samples: int
    key_numbers: UInt32[np.ndarray, " K"]
    key_kind: str
    forgive: tuple[type[Exception], ...] = FAILURES
    units: Scaler | None = None
    """Those to learn in; None is by the records that are fitted."""
    place: str = ""
    """In front of the names of its stages, so that the fits of all trials can leave checkpoints in one folder."""

    @property
    def keys(self) -> tuple[PRNGKeyArray, PRNGKeyArray]:
        """Of its key, which cannot be sent as it is, the parts for fitting and for judging."""
        fit_key, run_key = split(jr.wrap_key_data(jnp.asarray(self.key_numbers), impl=self.key_kind))
        return fit_key, run_key


def numbers_of(key: PRNGKeyArray) -> tuple[UInt32[np.ndarray, " K"], str]:
    """A key as numbers, and its kind."""
    return np.asarray(jr.key_data(key)), str(jr.key_impl(key))


def attempt(task: Task, store: Store | None = None) -> Trial | None:
    """Fit and judge. A failure that is forgiven is a trial as well; None if the user wants it to end.

    Where there is a store, the fit goes on if it was broken off, and is not repeated if it had ended.
    """
    began = time.monotonic()
    try:
        with _quiet():
            system = _learnt(task, task.keys[0], store)
    except task.forgive as failure:
        return failed_trial(task, reason(failure), began)
    return None if system is None else judged_trial(system, task, began)


def judged_trial(system: AbstractPredictor, task: Task, began: float) -> Trial:
    """How well a model runs free over what was held out."""
    try:
        with _quiet(), doing(f"scoring {task.name}"):
            runs = _free_runs(system, task, task.keys[1])
            found = _held_out(runs, task)
            judged: Score = score(runs, task.fold.test, horizon=None, rng=np.random.default_rng(0))
            log_density, error = found.log_density, found.error
    except task.forgive as failure:
        return failed_trial(task, reason(failure), began)
    if not (np.isfinite(log_density) and np.isfinite(error)):
        return failed_trial(task, "the free run diverged", began)
    seconds = time.monotonic() - began
    return Trial(task.name, task.fold.name, task.seed, log_density, error, None, seconds, held_out=found, score=judged)


def failed_trial(task: Task, why: str, began: float) -> Trial:
    """A trial without a score."""
    return Trial(task.name, task.fold.name, task.seed, -np.inf, np.inf, why, time.monotonic() - began)


def reason(failure: Exception) -> str:
    """A failure in a line."""
    return f"{type(failure).__name__}: {failure}".splitlines()[0]


@contextmanager
def _quiet() -> Iterator[None]:
    """Overflow in a model that explodes is an outcome here, not an accident."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@double_precision
def _learnt(task: Task, key: PRNGKeyArray, store: Store | None) -> AbstractPredictor | None:
    with Interruption(lambda message: None) as interruption:
        run = Run(store=store, interruption=interruption, name=task.place)
        try:
            made = task.method.fit(Prepared.of(task.fold.train, scaler=task.units), run, key=key)
        except InterruptedFitError:
            return None
    if made.result is Result.interrupted:
        return None
    if made.result is Result.diverged:
        raise FitError(made.result.value)
    return made.system


def _free_runs(system: AbstractPredictor, task: Task, key: PRNGKeyArray) -> list[Rollout]:
    n_init = max(task.n_init, system.least_context)
    if n_init > task.n_init:
        raise ValueError(f"it needs {n_init} samples to start, and n_init is {task.n_init}")
    return [
        system.simulate(record, n_init=n_init, num_samples=task.num_samples, key=fold_in(key, i))
        for i, record in enumerate(task.fold.test)
    ]


def _held_out(runs: list[Rollout], task: Task) -> HeldOut:
    """All held-out records together, by the median and the central spread of sampled trajectories.

    A model of which one trajectory in twenty leaves the range of the data is not as bad as the mean of all would say.
    """
    missed, spreads, known = [], [], []
    for rollout, record in zip(runs, task.fold.test, strict=True):
        scale = task.scaler.undo_std(np.ones(record.num_outputs))
        observed = record.observed[task.n_init :]
        some = observed.any(axis=1)
        missed.append(np.where(observed, record.y[task.n_init :] - rollout.median, 0.0)[some] / scale)
        spreads.append((rollout.central_std / scale)[some])
        known.append(observed[some])
    spread = np.concatenate(spreads)
    spread = np.where(np.isfinite(spread), np.maximum(spread, 1e-12), np.inf)
    return HeldOut(np.concatenate(missed), spread, np.concatenate(known))
