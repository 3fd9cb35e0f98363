"""The table behind every swing-up experiment: seeds x cases x training sizes x methods, resumable."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import jax
import jax.random as jr

import gpssm
from experiments import _swing_up_figures as figures
from experiments import methods
from experiments._lags import best_lags
from experiments._learn import learn, learnt_system
from experiments._results import Results, Row
from experiments._swing_up import FromMeasurement, Simulates, noise_rows, score, simulators, turning
from experiments._trials import Study
from experiments._two_views import TwoViews
from gpssm.methods import AbstractMethod
from gpssm.predict import AbstractPredictor, Autoregression

Fitter = Callable[[], Simulates | FromMeasurement]
Fits = dict[tuple[str, int, str], Simulates | FromMeasurement]
"""By case, number of training episodes and method."""
VIEWS = {"gpssm two views": "gpssm best", "argp two views": "argp angles"}
"""Mixtures, and what they mix."""


@dataclass(frozen=True)
class Case:
    """What is measured, and how a model is told where it starts."""

    observed: tuple[int, ...]
    n_init: int
    """Samples that are read before the free run: one shows a whole state, velocities need a few. An autoregressive GP
    has no more lags."""
    states: int
    second_view: str | None = None
    """A case that shows fewer outputs, whose model is mixed with that of this case in rows of their own."""


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
        fits = _one_seed(results, of_seed[seed], cases, counts, settings, seed)
        if seed == seeds[0]:
            _draw(results, of_seed[seed], fits, cases, counts)
    for seed, (name, case), count in product(seeds, cases.items(), counts):
        if network:
            work = partial(_network, of_seed[seed][name], case, count, settings, seed)
            results.run(f"{name} {count}", "gpssm network", seed, work)
    # The slowest last.
    for seed, (name, case), count in product(seeds, cases.items(), counts):
        work = partial(_paper, of_seed[seed][name], case, count, settings, seed)
        results.run(f"{name} {count}", "gpssm paper", seed, work)


def _one_seed(
    results: Results,
    studies: Mapping[str, Study],
    cases: Mapping[str, Case],
    counts: Sequence[int],
    settings: methods.SwingUp,
    seed: int,
) -> Fits:
    """Opponents and our settings; the fits that were made just now."""
    fitters: dict[tuple[str, int, str], Fitter] = {}
    fits: Fits = {}

    def fitted(name: str, count: int, method: str) -> Simulates | FromMeasurement:
        if (name, count, method) not in fits:
            fits[name, count, method] = fitters[name, count, method]()
        return fits[name, count, method]

    def rows(name: str, count: int, method: str) -> list[Row]:
        model = fitted(name, count, method)
        noises = noise_rows(model) if isinstance(model, gpssm.System) else []
        return [*score(studies[name], model, n_init=cases[name].n_init, seed=seed), *noises]

    def mixed(name: str, other: str, count: int, method: str) -> list[Row]:
        whole, part = fitted(name, count, method), fitted(other, count, method)
        assert isinstance(whole, gpssm.System | Autoregression) and isinstance(part, gpssm.System | Autoregression)
        columns = tuple(cases[name].observed.index(column) for column in cases[other].observed)
        both = TwoViews(whole, part, columns)
        return list(score(studies[name], both, n_init=cases[name].n_init, seed=seed))

    for (name, case), count in product(cases.items(), counts):
        made = _opponents(results, studies[name], name, case, count, seed)
        made["gpssm best"] = partial(_best, studies[name], case, count, settings, seed)
        for method, fit in made.items():
            fitters[name, count, method] = fit
            results.run(f"{name} {count}", method, seed, partial(rows, name, count, method))
    for (name, case), count in product(cases.items(), counts):
        if case.second_view is not None:
            for method, of in VIEWS.items():
                results.run(f"{name} {count}", method, seed, partial(mixed, name, case.second_view, count, of))
    return fits


def _learnt(train: gpssm.Episodes, method: AbstractMethod, key: jax.Array) -> AbstractPredictor:
    return learn(train, method, key=key).system


def _opponents(results: Results, study: Study, name: str, case: Case, count: int, seed: int) -> dict[str, Fitter]:
    """Rows that hardly learn, linear and autoregressive models. The latter have the lags that training trials ask
    for."""
    train, key = study.first(count), jr.fold_in(jr.key(4), seed)
    rows: dict[str, Fitter] = {
        "constant": partial(_learnt, train, methods.SWING_UP_CONSTANT, key),
        # The one before the last, however few the others learn from.
        "previous episode": partial(_learnt, study.train, methods.SWING_UP_PREVIOUS, key),
        **{name: partial(_itself, simulator) for name, simulator in simulators(study).items()},
        "kalman": partial(_learnt, train, methods.swing_up_kalman(case.states), key),
    }
    kernels = {lags: turning(study, train, states=len(study.observed), lags=lags) for lags in range(1, case.n_init + 1)}
    for method, candidates in methods.swing_up_autoregressions(kernels).items():
        choose = partial(best_lags, train, candidates, key=key)
        lags = int(results.choice(f"{name} {count}", f"lags of {method}, seed {seed}", choose))
        rows[method] = partial(_learnt, train, candidates[lags], key)
    return rows


def _itself(simulator: FromMeasurement) -> FromMeasurement:
    return simulator


def _best(study: Study, case: Case, count: int, settings: methods.SwingUp, seed: int) -> gpssm.System:
    train = study.first(count)
    method = settings.best(train, states=case.states, kernel=turning(study, train, states=case.states))
    return learnt_system(train, method, key=jr.fold_in(jr.key(3), seed))


def _network(study: Study, case: Case, count: int, settings: methods.SwingUp, seed: int) -> list[Row]:
    train = study.first(count)
    method = settings.network(train, states=case.states, kernel=turning(study, train, states=case.states))
    system = learnt_system(train, method, key=jr.fold_in(jr.key(5), seed))
    return [*score(study, system, n_init=case.n_init, seed=seed), *noise_rows(system)]


def _paper(study: Study, case: Case, count: int, settings: methods.SwingUp, seed: int) -> list[Row]:
    train = study.first(count)
    system = learnt_system(train, settings.paper(train, states=case.states), key=jr.fold_in(jr.key(2), seed))
    return [*score(study, system, n_init=case.n_init, seed=seed), *noise_rows(system)]


def _draw(
    results: Results, studies: Mapping[str, Study], fits: Fits, cases: Mapping[str, Case], counts: Sequence[int]
) -> None:
    """Figures of the first seed, if its models were fitted just now (a run that finds them done leaves its figures)."""
    stem = results.path.with_suffix("")
    drawn: dict[str, dict[int, tuple[Study, gpssm.System]]] = {name: {} for name in cases}
    for name, count in product(cases, counts):
        system = fits.get((name, count, "gpssm best"))
        if isinstance(system, gpssm.System):
            drawn[name][count] = (studies[name], system)
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
