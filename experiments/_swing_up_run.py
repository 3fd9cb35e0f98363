"""The table behind every swing-up experiment: seeds x cases x training sizes x methods, resumable."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import jax
import jax.random as jr

import gpssm
from experiments import _swing_up_figures as figures
from experiments import methods
from experiments._learn import learn, learnt_system
from experiments._results import Results
from experiments._swing_up import FromMeasurement, Simulates, score, simulators, turning
from experiments._trials import Study
from experiments._two_views import TwoViews
from gpssm.methods import AbstractMethod
from gpssm.predict import AbstractPredictor

Fitter = Callable[[], Simulates | FromMeasurement]
Models = dict[int, tuple[Study, gpssm.System]]
"""Ours, by the number of training episodes."""
Drawn = dict[str, Models]


@dataclass(frozen=True)
class Case:
    """What is measured, and how a model is told where it starts."""

    observed: tuple[int, ...]
    n_init: int
    """Samples that are read before the free run: one shows a whole state, velocities need a few."""
    states: int
    lags: int
    """Of the autoregressive GP."""
    second_view: str | None = None
    """A case that shows fewer outputs, whose model is mixed with that of this case in a row of its own."""


def run(
    results: Results,
    studies: Mapping[tuple[int, str], Study],
    cases: Mapping[str, Case],
    counts: Sequence[int],
    settings: methods.SwingUp,
    *,
    network: bool = False,
) -> None:
    """Every method on every case, the row of the network where it is wanted; models that figures need are drawn as soon
    as their seed is done."""
    seeds = sorted({seed for seed, _ in studies})
    of_seed = {seed: {name: studies[seed, name] for name in cases} for seed in seeds}
    for seed in seeds:
        drawn = _one_seed(results, of_seed[seed], cases, counts, settings, seed, paper=False)
        if seed == seeds[0]:
            _draw(results, drawn, cases, counts)
    if network:
        for seed, (name, case), count in product(seeds, cases.items(), counts):
            work = partial(_network, of_seed[seed][name], case, count, settings, seed)
            results.run(f"{name} {count}", "gpssm network", seed, work)
    # The slowest last.
    for seed in seeds:
        _one_seed(results, of_seed[seed], cases, counts, settings, seed, paper=True)


def _one_seed(
    results: Results,
    studies: Mapping[str, Study],
    cases: Mapping[str, Case],
    counts: Sequence[int],
    settings: methods.SwingUp,
    seed: int,
    *,
    paper: bool,
) -> Drawn:
    drawn: Drawn = {name: {} for name in cases}
    for name, count in product(cases, counts):
        study, case = studies[name], cases[name]
        rows: dict[str, Fitter] = {"gpssm paper": partial(_paper, study, case, count, settings, seed)}
        if not paper:
            rows = _opponents(study, case, count, seed)
            rows["gpssm best"] = partial(_best, study, case, count, settings, seed)
        for method, fit in rows.items():
            results.run(
                f"{name} {count}",
                method,
                seed,
                partial(_fit_and_score, fit, drawn[name], method, study, case, count, seed),
            )
    if not paper:
        for (name, case), count in product(cases.items(), counts):
            if case.second_view is not None:
                work = partial(_score_two_views, studies, cases, name, count, settings, seed, drawn)
                results.run(f"{name} {count}", "gpssm two views", seed, work)
    return drawn


def _fit_and_score(
    fit: Fitter, drawn: Models, method: str, study: Study, case: Case, count: int, seed: int
) -> list[dict[str, Any]]:
    system = fit()
    if isinstance(system, gpssm.System) and method == "gpssm best":
        drawn[count] = (study, system)
    return list(score(study, system, n_init=case.n_init, seed=seed))


def _score_two_views(
    studies: Mapping[str, Study],
    cases: Mapping[str, Case],
    name: str,
    count: int,
    settings: methods.SwingUp,
    seed: int,
    drawn: Drawn,
) -> list[dict[str, Any]]:
    """The models of both cases, fitted if that was not done just now, as one."""
    case = cases[name]
    assert case.second_view is not None

    def model(view: str) -> gpssm.System:
        if count not in drawn[view]:
            drawn[view][count] = (studies[view], _best(studies[view], cases[view], count, settings, seed))
        return drawn[view][count][1]

    columns = tuple(case.observed.index(column) for column in cases[case.second_view].observed)
    both = TwoViews(model(name), model(case.second_view), columns)
    return list(score(studies[name], both, n_init=case.n_init, seed=seed))


def _learnt(train: gpssm.Episodes, method: AbstractMethod, key: jax.Array) -> AbstractPredictor:
    return learn(train, method, key=key).system


def _opponents(study: Study, case: Case, count: int, seed: int) -> dict[str, Fitter]:
    """Rows that hardly learn, linear and autoregressive models."""
    train, key = study.first(count), jr.fold_in(jr.key(4), seed)
    kernel = turning(study, train, states=len(study.observed), lags=case.lags)
    opponents = methods.swing_up_opponents(order=case.states, lags=case.lags, kernel=kernel)
    return {
        "constant": partial(_learnt, train, methods.SWING_UP_CONSTANT, key),
        # The one before the last, however few the others learn from.
        "previous episode": partial(_learnt, study.train, methods.SWING_UP_PREVIOUS, key),
        **{name: partial(_itself, simulator) for name, simulator in simulators(study).items()},
        **{name: partial(_learnt, train, method, key) for name, method in opponents.items()},
    }


def _itself(simulator: FromMeasurement) -> FromMeasurement:
    return simulator


def _best(study: Study, case: Case, count: int, settings: methods.SwingUp, seed: int) -> gpssm.System:
    train = study.first(count)
    method = settings.best(train, states=case.states, kernel=turning(study, train, states=case.states))
    return learnt_system(train, method, key=jr.fold_in(jr.key(3), seed))


def _network(study: Study, case: Case, count: int, settings: methods.SwingUp, seed: int) -> list[dict[str, Any]]:
    train = study.first(count)
    method = settings.network(train, states=case.states, kernel=turning(study, train, states=case.states))
    system = learnt_system(train, method, key=jr.fold_in(jr.key(5), seed))
    return list(score(study, system, n_init=case.n_init, seed=seed))


def _paper(study: Study, case: Case, count: int, settings: methods.SwingUp, seed: int) -> gpssm.System:
    train = study.first(count)
    return learnt_system(train, settings.paper(train, states=case.states), key=jr.fold_in(jr.key(2), seed))


def _draw(results: Results, drawn: Drawn, cases: Mapping[str, Case], counts: Sequence[int]) -> None:
    """Figures of the first seed, if its models were fitted just now (a run that finds them done leaves its figures)."""
    stem = results.path.with_suffix("")
    if all(len(systems) == len(counts) for systems in drawn.values()):
        figures.futures(
            stem.with_name(f"{stem.name}_futures.png"), drawn, {name: case.n_init for name, case in cases.items()}
        )
    for name, systems in drawn.items():
        if counts[-1] in systems:
            study, system = systems[counts[-1]]
            word = name.replace(" ", "_")
            figures.latent_states(stem.with_name(f"{stem.name}_{word}_states.png"), study, system, counts[-1])
            figures.training_fits(
                stem.with_name(f"{stem.name}_{word}_fits.png"), study, system, counts[-1], cases[name].n_init
            )
