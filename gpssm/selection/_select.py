"""Choose among models by how well they run free on data that they have not seen."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm import metrics
from gpssm.data import Episode, Episodes, Scaler
from gpssm.predict import Rollout
from gpssm.selection._candidates import AbstractDeterministic
from gpssm.selection._folds import AbstractFolds, Fold, default_folds
from gpssm.selection._scores import Score, Selection

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


def select(
    candidates: Mapping[str, Candidate],
    episodes: Episodes,
    *,
    n_init: int = 16,
    folds: AbstractFolds | None = None,
    seeds: int = 2,
    num_samples: int = 100,
    progress: Callable[[Score], None] | None = None,
    key: PRNGKeyArray,
) -> Selection:
    """Fit every candidate without each of several held-out parts and score its free run over that part.

    List the candidates from simple to complex: the winner is the first that is no worse than the best by more than one
    standard error. Give training data only; test data must not be seen here. By default, a few long records are cut
    into four blocks, and many episodes into four groups. Candidates that fail, or whose predictions are not finite, are
    lost and the reason is kept; those that do not depend on a key are fitted once for all seeds. All candidates see the
    same folds and keys, and the same key gives the same scores.
    """
    if not candidates:
        raise ValueError("no candidates to select from")
    if seeds < 1:
        raise ValueError(f"seeds={seeds}: need at least one")
    parts = (default_folds(episodes) if folds is None else folds).split(episodes, n_init=n_init)
    scaler = Scaler.from_episodes(episodes)
    scores = []
    for name, candidate in candidates.items():
        count = 1 if isinstance(candidate, AbstractDeterministic) else seeds
        for seed in range(count):
            for i, fold in enumerate(parts):
                fold_key = jr.fold_in(jr.fold_in(key, seed), i)
                score = _score(name, candidate, fold, seed, scaler, n_init, num_samples, fold_key)
                scores.append(score)
                if progress is not None:
                    progress(score)
    return Selection(tuple(candidates), tuple(scores))


def _score(
    name: str,
    candidate: Candidate,
    fold: Fold,
    seed: int,
    scaler: Scaler,
    n_init: int,
    num_samples: int,
    key: PRNGKeyArray,
) -> Score:
    fit_key, run_key = jr.split(key)
    try:
        # Overflow in a model that explodes is an outcome here, not an accident.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            model: Fitted = candidate(fold.train, key=fit_key)
            log_density, error = _free_run_scores(model, fold, scaler, n_init, num_samples, run_key)
    except FAILURES as failure:
        return Score(name, fold.name, seed, -np.inf, np.inf, f"{type(failure).__name__}: {failure}".splitlines()[0])
    if not (np.isfinite(log_density) and np.isfinite(error)):
        return Score(name, fold.name, seed, -np.inf, np.inf, "the free run diverged")
    return Score(name, fold.name, seed, log_density, error)


def _free_run_scores(
    model: Fitted, fold: Fold, scaler: Scaler, n_init: int, num_samples: int, key: PRNGKeyArray
) -> tuple[float, float]:
    """Log-density (Gaussian with the moments of the free run) and error over all held-out records together."""
    truths, means, stds, masks = [], [], [], []
    for i, record in enumerate(fold.test):
        rollout = model.simulate(record, n_init=n_init, num_samples=num_samples, key=jr.fold_in(key, i))
        scale = scaler.undo_std(np.ones(record.num_outputs))
        truths.append((record.y[n_init:] - scaler.undo_mean(np.zeros(record.num_outputs))) / scale)
        means.append((rollout.mean - scaler.undo_mean(np.zeros(record.num_outputs))) / scale)
        stds.append(rollout.std / scale)
        masks.append(record.observed[n_init:])
    y, mean, std, mask = (np.concatenate(parts) for parts in (truths, means, stds, masks))
    std = np.where(np.isfinite(std), np.maximum(std, 1e-12), np.inf)
    return metrics.log_density_gaussian(y, mean, std, where=mask), metrics.rmse(y, mean, where=mask)
