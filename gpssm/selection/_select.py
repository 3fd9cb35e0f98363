"""Choose among models by how well they run free on data that they have not seen."""

from collections.abc import Callable, Mapping

import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm.data import Episodes, Scaler
from gpssm.pools import AbstractPool, InTurn, Lost
from gpssm.selection._folds import AbstractFolds, default_folds
from gpssm.selection._one_run import Candidate, Task, numbers_of, score
from gpssm.selection._opponents import AbstractDeterministic
from gpssm.selection._scores import Score, Selection


def select(
    candidates: Mapping[str, Candidate],
    episodes: Episodes,
    *,
    n_init: int = 16,
    folds: AbstractFolds | None = None,
    seeds: int = 2,
    num_samples: int = 100,
    progress: Callable[[Score], None] | None = None,
    pool: AbstractPool = InTurn(),
    key: PRNGKeyArray,
) -> Selection:
    """Fit every candidate without each of several held-out parts and score its free run over that part.

    List the candidates from simple to complex: the winner is the first that is no worse than the best by more than one
    standard error. Give training data only; test data must not be seen here. By default, a few long records are cut
    into four blocks, and many episodes into four groups. Candidates that fail, or whose predictions are not finite, are
    lost and the reason is kept; those that do not depend on a key are fitted once for all seeds. All candidates see the
    same folds and keys, and the same key gives the same scores, whatever `pool` the fits run in.
    """
    if not candidates:
        raise ValueError("no candidates to select from")
    if seeds < 1:
        raise ValueError(f"seeds={seeds}: need at least one")
    parts = (default_folds(episodes) if folds is None else folds).split(episodes, n_init=n_init)
    scaler = Scaler.from_episodes(episodes)
    tasks = []
    for name, candidate in candidates.items():
        count = 1 if isinstance(candidate, AbstractDeterministic) else seeds
        for seed in range(count):
            for i, fold in enumerate(parts):
                numbers = numbers_of(jr.fold_in(jr.fold_in(key, seed), i))
                tasks.append(Task(name, candidate, fold, seed, scaler, n_init, num_samples, *numbers))
    return Selection(tuple(candidates), run_all(tasks, pool, progress))


def run_all(tasks: list[Task], pool: AbstractPool, progress: Callable[[Score], None] | None) -> tuple[Score, ...]:
    """The scores in the order of the tasks, wherever and in whatever order they were made."""
    scores: dict[int, Score] = {}
    for i, made in pool.run(score, tasks):
        task = tasks[i]
        if isinstance(made, Lost):
            made = Score(task.name, task.fold.name, task.seed, -np.inf, np.inf, made.reason)
        scores[i] = made
        if progress is not None:
            progress(made)
    return tuple(scores[i] for i in range(len(tasks)))
