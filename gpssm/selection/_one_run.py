"""One fit of one candidate, and how well it runs free over what was held out."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, final, runtime_checkable

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray, UInt32

from gpssm.data import Episode, Scaler
from gpssm.predict import Rollout
from gpssm.selection._folds import Fold
from gpssm.selection._held_out import HeldOut
from gpssm.selection._scores import Score

FAILURES = (ValueError, ArithmeticError, RuntimeError, np.linalg.LinAlgError)
"""What a fit that goes wrong may raise. Mistakes in a candidate's code (wrong types or names) are not caught."""


@runtime_checkable
class Fitted(Protocol):
    """Anything that can run free."""

    def simulate(self, episode: Episode, *, n_init: int, num_samples: int, key: PRNGKeyArray) -> Rollout:
        """Free run from step `n_init` on."""
        ...


Candidate = Callable[..., Any]
"""Called as `candidate(episodes, key=key)`; returns something `Fitted`."""


@final
@dataclass(frozen=True)
class Task:
    """Everything that one run needs, in a form that can be sent to another process."""

    name: str
    candidate: Candidate
    fold: Fold
    seed: int
    scaler: Scaler
    n_init: int
    num_samples: int
    key_numbers: UInt32[np.ndarray, " K"]
    key_kind: str
    forgive: tuple[type[Exception], ...] = FAILURES

    @property
    def key(self) -> PRNGKeyArray:
        """The key, which cannot be sent as it is."""
        return jr.wrap_key_data(jnp.asarray(self.key_numbers), impl=self.key_kind)


def numbers_of(key: PRNGKeyArray) -> tuple[UInt32[np.ndarray, " K"], str]:
    """A key as numbers, and its kind."""
    return np.asarray(jr.key_data(key)), str(jr.key_impl(key))


def score(task: Task) -> Score:
    """Fit and judge. A failure that is forgiven is a score as well: a lost one."""
    fit_key, run_key = jr.split(task.key)
    began = time.monotonic()

    def made(
        log_density: float = -np.inf, error: float = np.inf, lost: str | None = None, held_out: HeldOut | None = None
    ) -> Score:
        seconds = time.monotonic() - began
        return Score(task.name, task.fold.name, task.seed, log_density, error, lost, seconds, held_out)

    try:
        # Overflow in a model that explodes is an outcome here, not an accident.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            model: Fitted = task.candidate(task.fold.train, key=fit_key)
            found = _free_run(model, task.fold, task.scaler, task.n_init, task.num_samples, run_key)
            log_density, error = found.log_density, found.error
    except task.forgive as failure:
        return made(lost=f"{type(failure).__name__}: {failure}".splitlines()[0])
    if not (np.isfinite(log_density) and np.isfinite(error)):
        return made(lost="the free run diverged")
    return made(log_density, error, held_out=found)


def _free_run(model: Fitted, fold: Fold, scaler: Scaler, n_init: int, num_samples: int, key: PRNGKeyArray) -> HeldOut:
    """All held-out records together, by the median and the central spread of sampled trajectories.

    A model of which one trajectory in twenty leaves the range of the data is not as bad as the mean of all would say.
    """
    missed, spreads, known = [], [], []
    for i, record in enumerate(fold.test):
        rollout = model.simulate(record, n_init=n_init, num_samples=num_samples, key=jr.fold_in(key, i))
        scale = scaler.undo_std(np.ones(record.num_outputs))
        observed = record.observed[n_init:]
        some = observed.any(axis=1)
        missed.append(np.where(observed, record.y[n_init:] - rollout.median, 0.0)[some] / scale)
        spreads.append((rollout.central_std / scale)[some])
        known.append(observed[some])
    spread = np.concatenate(spreads)
    spread = np.where(np.isfinite(spread), np.maximum(spread, 1e-12), np.inf)
    return HeldOut(np.concatenate(missed), spread, np.concatenate(known))
