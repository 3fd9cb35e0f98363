"""The table behind every swing-up experiment: seeds x cases x training sizes x methods, resumable."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import gpssm
from experiments import _swing_up_figures as figures
from experiments._results import Results
from experiments._swing_up import Simulates, gpssm_best, gpssm_paper, opponents, score
from experiments._trials import Study
from experiments._two_views import TwoViews

Fitter = Callable[[], Simulates]
Drawn = dict[str, dict[int, tuple[Study, Simulates]]]


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


@dataclass(frozen=True)
class Settings:
    """How the two GPSSM rows are trained."""

    inducing: int
    hidden: int
    paper_steps: int
    best_inducing: int
    best_cycles: int


def run(
    results: Results,
    studies: Mapping[tuple[int, str], Study],
    cases: Mapping[str, Case],
    counts: Sequence[int],
    settings: Settings,
) -> None:
    """Every method on every case; models that figures need are drawn as soon as their seed is done."""
    seeds = sorted({seed for seed, _ in studies})
    of_seed = {seed: {name: studies[seed, name] for name in cases} for seed in seeds}
    for seed in seeds:
        drawn = _one_seed(results, of_seed[seed], cases, counts, settings, seed, paper=False)
        if seed == seeds[0]:
            _draw(results, drawn, cases, counts)
    # The slowest last.
    for seed in seeds:
        _one_seed(results, of_seed[seed], cases, counts, settings, seed, paper=True)


def _one_seed(
    results: Results,
    studies: Mapping[str, Study],
    cases: Mapping[str, Case],
    counts: Sequence[int],
    settings: Settings,
    seed: int,
    *,
    paper: bool,
) -> Drawn:
    drawn: Drawn = {name: {} for name in cases}
    for name, count in product(cases, counts):
        study, case = studies[name], cases[name]
        methods: dict[str, Fitter] = {"gpssm paper": partial(_paper, study, case, count, settings, seed)}
        if not paper:
            methods = {
                **opponents(study, count, order=case.states, lags=case.lags, seed=seed),
                "gpssm best": partial(_best, study, case, count, settings, seed),
            }
        for method, fit in methods.items():
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
    fit: Fitter, drawn: dict[int, tuple[Study, Simulates]], method: str, study: Study, case: Case, count: int, seed: int
) -> list[dict[str, Any]]:
    system = fit()
    if method == "gpssm best":
        drawn[count] = (study, system)
    return list(score(study, system, n_init=case.n_init, seed=seed))


def _score_two_views(
    studies: Mapping[str, Study],
    cases: Mapping[str, Case],
    name: str,
    count: int,
    settings: Settings,
    seed: int,
    drawn: Drawn,
) -> list[dict[str, Any]]:
    """The models of both cases, fitted if that was not done just now, as one."""
    case = cases[name]
    assert case.second_view is not None

    def model(view: str) -> gpssm.System:
        if count not in drawn[view]:
            drawn[view][count] = (studies[view], _best(studies[view], cases[view], count, settings, seed))
        found = drawn[view][count][1]
        assert isinstance(found, gpssm.System)
        return found

    columns = tuple(case.observed.index(column) for column in cases[case.second_view].observed)
    both = TwoViews(model(name), model(case.second_view), columns)
    return list(score(studies[name], both, n_init=case.n_init, seed=seed))


def _best(study: Study, case: Case, count: int, settings: Settings, seed: int) -> Simulates:
    return gpssm_best(
        study, count, states=case.states, inducing=settings.best_inducing, cycles=settings.best_cycles, seed=seed
    )


def _paper(study: Study, case: Case, count: int, settings: Settings, seed: int) -> Simulates:
    return gpssm_paper(
        study.first(count),
        states=case.states,
        inducing=settings.inducing,
        hidden=settings.hidden,
        steps=settings.paper_steps,
        seed=seed,
    )


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
            assert isinstance(system, gpssm.System)
            word = name.replace(" ", "_")
            figures.latent_states(stem.with_name(f"{stem.name}_{word}_states.png"), study, system, counts[-1])
            figures.training_fits(
                stem.with_name(f"{stem.name}_{word}_fits.png"), study, system, counts[-1], cases[name].n_init
            )
