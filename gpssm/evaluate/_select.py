"""Choose among methods by how well their models run free on data that they have not seen."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import partial

import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._activity import note
from gpssm._core._garbage import set_aside
from gpssm._core._random import AnyKey, as_key
from gpssm._core._ticker import alive
from gpssm.data import Episodes, Scaler
from gpssm.data._holdout import context_length
from gpssm.evaluate._folds import AbstractFolds, default_folds
from gpssm.evaluate._selection import Selection, Trial
from gpssm.evaluate._trial import FAILURES, MISTAKES, Task, attempt, numbers_of
from gpssm.fitting import AbstractMethod, Progress, Run, Silent
from gpssm.fitting._identity import describe_fit, digest_tree
from gpssm.fitting._interrupt import Interruption
from gpssm.fitting._store import Keeper
from gpssm.pools import AbstractPool, Lost, Serial


@set_aside()
def select(
    methods: Mapping[str, AbstractMethod] | Iterable[AbstractMethod],
    episodes: Episodes,
    *,
    n_init: int | None = None,
    folds: AbstractFolds | None = None,
    seeds: int = 2,
    num_samples: int = 100,
    progress: Progress | None = None,
    checkpoints: Keeper | None = None,
    pool: AbstractPool = Serial(),
    forgive_mistakes: bool = False,
    key: AnyKey = None,
    seed: int | None = None,
) -> Selection:
    """Fit every method without each of several held-out parts and score its free run over that part.

    List the methods from simple to complex: the winner is the first that is no worse than the best by more than one
    standard error. Give training data only; test data must not be seen here. By default, a few long records are cut
    into four blocks, and many episodes into four groups; `folds=Against(test)` judges on records of your own instead.
    Of each held-out record the first `n_init` samples are read and not scored (by default a fifth of the shortest, at
    most 20). Methods that fail, or whose predictions are not finite, stay in the table with the reason; those that do
    not depend on a key are fitted once for all seeds. All methods see the same folds and keys, and the same key gives
    the same scores, whatever `pool` the fits run in. Ctrl-C ends it with the trials that were made; with
    `checkpoints=Checkpoints(folder)` the same call goes on, and no fit is made twice.
    """
    key = as_key(key, seed)
    named = _named(methods)
    if checkpoints is not None and not isinstance(pool, Serial):
        raise ValueError("checkpoints are kept where one fit follows the other: leave pool out")
    settings = {name: digest_tree(method) for name, method in named.items()}
    settings |= {"folds": repr(folds), "seeds": seeds, "num_samples": num_samples, "n_init": n_init}
    identity = describe_fit(episodes=episodes, held_out=None, key=key, settings=settings)
    progress = Silent() if progress is None else progress
    with (
        nullcontext() if checkpoints is None else checkpoints.open(identity) as store,
        Interruption(progress.say) as interruption,
        alive(progress),
    ):
        return select_within(
            Run(progress, store, interruption=interruption),
            named,
            episodes,
            n_init=n_init,
            folds=folds,
            seeds=seeds,
            num_samples=num_samples,
            pool=pool,
            forgive_mistakes=forgive_mistakes,
            key=key,
        )


def select_within(
    run: Run,
    named: Mapping[str, AbstractMethod],
    episodes: Episodes,
    *,
    n_init: int | None = None,
    folds: AbstractFolds | None = None,
    seeds: int = 1,
    num_samples: int = 100,
    pool: AbstractPool = Serial(),
    forgive_mistakes: bool = False,
    units: Scaler | None = None,
    key: PRNGKeyArray,
) -> Selection:
    """`select` as a part of a fit, whose progress, checkpoints and Ctrl-C are those of its trials.

    `units` are those of a fit with a direct term, which all trials share.
    """
    if not named:
        raise ValueError("no methods to select from")
    if seeds < 1:
        raise ValueError(f"seeds={seeds}: need at least one")
    rule = default_folds(episodes) if folds is None else folds
    n_init = _context(rule, episodes) if n_init is None else n_init
    parts = rule.split(episodes, n_init=n_init)
    scaler = Scaler.from_episodes(episodes)
    forgive = (*FAILURES, *MISTAKES) if forgive_mistakes else FAILURES
    tasks = []
    for name, method in named.items():
        for number in range(1 if method.deterministic else seeds):
            for i, fold in enumerate(parts):
                numbers = numbers_of(jr.fold_in(jr.fold_in(key, number), i))
                place = f"{run.name}trial{len(tasks) + 1}."
                tasks.append(
                    Task(name, method, fold, number, scaler, n_init, num_samples, *numbers, forgive, units, place)
                )
    trials = _run_all(tasks, pool, run)
    return Selection(dict(named), trials, interrupted=len(trials) < len(tasks))


def _named(methods: Mapping[str, AbstractMethod] | Iterable[AbstractMethod]) -> dict[str, AbstractMethod]:
    """Methods by the names given to them, or by what they print as."""
    if isinstance(methods, Mapping):
        return {str(name): method for name, method in methods.items()}
    given = tuple(methods)
    named = {str(method): method for method in given}
    if len(named) < len(given):
        # Arrays, such as those of a kernel, print by their shape only.
        raise ValueError('two of the methods print alike and cannot be told apart: give names, {"first": method, ...}')
    return named


def _context(folds: AbstractFolds, episodes: Episodes) -> int:
    """The one rule for how much of a record is read, applied to the records that are held out."""
    return context_length(len(record) for fold in folds.split(episodes, n_init=1) for record in fold.test)


def _run_all(tasks: list[Task], pool: AbstractPool, run: Run) -> tuple[Trial, ...]:
    """The trials in the order of the tasks, wherever and in whatever order they were made."""
    trials: dict[int, Trial] = {}
    # Nothing of a selection is shared by processes that fit together, and a store cannot be sent to others.
    alone = run.devices is None or run.devices.num_processes == 1
    trial = partial(attempt, store=run.store) if run.store is not None and alone else attempt
    note(f"trial 1 of {len(tasks)}: {tasks[0].name}")
    for i, made in pool.run(trial, tasks):
        if made is None:
            break
        task = tasks[i]
        if isinstance(made, Lost):
            made = Trial(task.name, task.fold.name, task.seed, -np.inf, np.inf, made.reason)
        trials[i] = made
        run.say(f"{len(trials)} of {len(tasks)}: {made.line()}")
        if run.interrupted:
            break
        if len(trials) < len(tasks):
            note(f"trial {len(trials) + 1} of {len(tasks)}: {tasks[len(trials)].name}")
    return tuple(trials[i] for i in sorted(trials))
