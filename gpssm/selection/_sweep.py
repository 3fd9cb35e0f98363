"""Many settings and seeds fitted to the same records and judged on the same others: one row for each run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

import jax.random as jr
from jaxtyping import PRNGKeyArray

from gpssm.data import Episodes, Scaler
from gpssm.pools import AbstractPool, InTurn
from gpssm.selection._folds import Fold
from gpssm.selection._one_run import FAILURES, Candidate, Task, numbers_of
from gpssm.selection._opponents import AbstractDeterministic
from gpssm.selection._scores import Score
from gpssm.selection._select import run_all

MISTAKES = (TypeError, AttributeError, LookupError, AssertionError, MemoryError, OSError)
"""A sweep takes hours: a mistake in one candidate is a row of the table as well, not the end of the others."""


@final
@dataclass(frozen=True)
class Sweep:
    """A row for each candidate and seed, in the order in which they were given."""

    rows: tuple[Score, ...]

    @property
    def best(self) -> Score | None:
        """The run with the largest value (half of log-density minus log-error); None if all were lost."""
        alive = [row for row in self.rows if row.lost is None]
        return max(alive, key=lambda row: row.value) if alive else None

    def table(self) -> str:
        """All rows as text; `*` marks the best."""
        width = max(len("candidate"), *(len(row.candidate) for row in self.rows))
        lines = [f"  {'candidate':<{width}}  {'seed':>4}  {'log density':>11}  {'error':>8}  {'seconds':>8}"]
        best = self.best
        for row in self.rows:
            mark = "*" if row is best else " "
            numbers = f"{row.log_density:11.3f}  {row.error:8.3f}  {row.seconds:8.1f}"
            lines.append(
                f"{mark} {row.candidate:<{width}}  {row.seed:>4}  {f'lost: {row.lost}' if row.lost else numbers}"
            )
        return "\n".join(lines)

    def records(self) -> list[dict[str, object]]:
        """The rows as plain dictionaries, for a data frame."""
        return [{**vars(row), "value": row.value} for row in self.rows]


def sweep(
    candidates: Mapping[str, Candidate],
    train: Episodes,
    test: Episodes,
    *,
    n_init: int = 16,
    seeds: int = 1,
    num_samples: int = 100,
    pool: AbstractPool = InTurn(),
    progress: Callable[[Score], None] | None = None,
    key: PRNGKeyArray,
) -> Sweep:
    """Fit every candidate with every seed to `train`, run it free over `test`, and put all into one table.

    `gpssm.selection.grid` makes candidates from lists of states, kernels and other settings. Runs are independent, and
    `pool` says where they take place: `ProcessPool(2)` here, `DaskPool(client)` on a cluster. Of each test record the
    first `n_init` samples are read and not scored. A run that fails is a row with its reason. The same key gives the
    same rows in any pool. To choose a model use `gpssm.select`, which holds out parts of the training data instead.
    """
    if not candidates:
        raise ValueError("no candidates to sweep over")
    if seeds < 1:
        raise ValueError(f"seeds={seeds}: need at least one")
    short = [record.name for record in test if len(record) <= n_init]
    if short:
        raise ValueError(f"'{short[0]}' has no more than n_init={n_init} samples: nothing is left to score")
    fold, scaler = Fold("test", train, tuple(test)), Scaler.from_episodes(train)
    tasks = [
        Task(
            name,
            candidate,
            fold,
            seed,
            scaler,
            n_init,
            num_samples,
            *numbers_of(jr.fold_in(key, seed)),
            forgive=(*FAILURES, *MISTAKES),
        )
        for name, candidate in candidates.items()
        for seed in range(1 if isinstance(candidate, AbstractDeterministic) else seeds)
    ]
    return Sweep(run_all(tasks, pool, progress))
