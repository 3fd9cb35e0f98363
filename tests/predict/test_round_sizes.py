"""Runs are filled up to round sizes; nobody sees it but in the time that compiling takes."""

from collections.abc import Callable
from dataclasses import replace

import equinox as eqx
import jax
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

import gpssm
from gpssm.filters import EKF, UKF, ParticleFilter
from gpssm.predict import Autoregression, IndependentSteps, MeanOnly, Pathwise, States, _run, _system
from gpssm.predict.autoregression import _free_run
from tests.reference.small_system import record

pytestmark = pytest.mark.system  # programs of every size are compiled twice

N_INIT = 5
LENGTH, LONG = 19, 23
"""Neither is a round size; with N_INIT samples less they are filled up to 16 and to 32 steps."""

compiled: list[str] = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **_: compiled.append(event) if event.endswith("backend_compile_duration") else None
)


@pytest.fixture(scope="module")
def lagged() -> Autoregression:
    found = gpssm.fit(
        gpssm.Episodes([record(30, seed=i) for i in range(3)]), gpssm.GPNARX(2), progress=gpssm.Silent(), seed=0
    )
    assert isinstance(found.system, Autoregression)
    return found.system


@pytest.fixture
def exact_sizes(monkeypatch) -> Callable[[], None]:
    """From its call on nothing is filled up."""

    def change() -> None:
        for module in (_system, _free_run):
            monkeypatch.setattr(module, "round_size", lambda size, least=1: size)
            monkeypatch.setattr(module, "round_count", lambda count: count)

    return change


def _same_run(found: gpssm.Rollout, wanted: gpssm.Rollout) -> None:
    for name in ("signals", "samples", "states", "noise_std"):
        assert_allclose(getattr(found, name), getattr(wanted, name), atol=1e-12, err_msg=name)


@pytest.mark.parametrize("kind", ["small", "lagged"])
@pytest.mark.parametrize("propagation", [Pathwise(), IndependentSteps(), MeanOnly()], ids=lambda p: type(p).__name__)
def test_a_free_run_does_not_depend_on_what_fills_it_up(request, exact_sizes, kind, propagation):
    predictor, episode = request.getfixturevalue(kind), record(LENGTH, seed=7, missing=0.2)

    def run() -> gpssm.Rollout:
        return predictor.simulate(episode, n_init=N_INIT, num_samples=11, propagation=propagation, seed=3)

    filled = run()
    assert filled.samples.shape == (1 if isinstance(propagation, MeanOnly) else 11, LENGTH - N_INIT, 1)
    exact_sizes()
    _same_run(filled, run())


@pytest.mark.parametrize("kind", ["small", "lagged"])
@pytest.mark.parametrize("horizon", [1, 9])
def test_nor_do_predictions_from_every_step(request, exact_sizes, kind, horizon):
    predictor, episode = request.getfixturevalue(kind), record(LENGTH, seed=7, missing=0.2)

    def run() -> gpssm.Rollout:
        return predictor.predict(episode, horizon=horizon, num_samples=11, seed=3)

    filled = run()
    assert filled.samples.shape == (11, LENGTH - horizon - predictor.least_context + 1, 1)
    exact_sizes()
    _same_run(filled, run())


@pytest.mark.parametrize("kind", ["small", "lagged"])
def test_a_run_is_the_beginning_of_a_longer_one_with_more_samples(request, kind):
    predictor, episode = request.getfixturevalue(kind), record(LONG, seed=7)
    options = {"n_init": N_INIT, "seed": 3}
    short = predictor.simulate(episode.head(LENGTH), num_samples=11, **options)
    long = predictor.simulate(episode, num_samples=30, **options)
    assert_allclose(short.signals, long.signals[:11, : LENGTH - N_INIT], atol=1e-12)


@pytest.mark.parametrize("reader", [EKF(), UKF(), ParticleFilter(50)], ids=lambda r: type(r).__name__)
def test_a_filter_does_not_depend_on_what_fills_up_the_record(small, exact_sizes, reader):
    episode = record(LENGTH, seed=7, missing=0.2)
    filled = small.filter(episode, reader=reader, key=jr.key(1))
    exact_sizes()
    _same_states(filled, small.filter(episode, reader=reader, key=jr.key(1)))


@pytest.mark.parametrize("read", [lambda s: None, lambda s: s.recognition], ids=["smoother", "network"])
def test_nor_does_smoothing(small, exact_sizes, read):
    episode = record(LENGTH, seed=7, missing=0.2)
    filled = small.smooth(episode, reader=read(small))
    exact_sizes()
    _same_states(filled, small.smooth(episode, reader=read(small)))


def test_nor_does_smoothing_an_unstable_system(linear, exact_sizes):
    transition = jax.tree.map(
        lambda leaf: 40.0 * leaf if leaf.shape == (2, 2) else leaf, linear.system.model.transition
    )
    model = eqx.tree_at(lambda m: m.transition, linear.system.model, transition)
    system, episode = replace(linear.system, model=model), linear.episode.head(17)
    filled = system.smooth(episode)
    assert np.isfinite(filled.means).all()
    exact_sizes()
    assert_allclose(filled.means, system.smooth(episode).means, rtol=1e-9, atol=1e-9)


def _same_states(found: States, wanted: States) -> None:
    for name in ("means", "chols", "outputs", "output_std"):
        assert_allclose(np.abs(getattr(found, name)), np.abs(getattr(wanted, name)), atol=1e-12, err_msg=name)
    assert found.log_evidence == wanted.log_evidence or found.log_evidence == pytest.approx(wanted.log_evidence)


@pytest.mark.parametrize("kind", ["small", "lagged"])
def test_ten_lengths_and_numbers_of_samples_share_a_few_programs(request, monkeypatch, kind):
    """Runs of 36 to 45 steps are filled up to 64, samples to 24 and 32; all read as many first samples."""
    predictor, traced = request.getfixturevalue(kind), []
    for module in (_run, _free_run):
        monkeypatch.setattr(module, "side_by_side", _noting(traced, "runs", module.side_by_side))
    monkeypatch.setattr(_run, "run_filter", _noting(traced, "filters", _run.run_filter))
    before = len(compiled)
    for i, length in enumerate(range(41, 51)):
        # Settings that no other test has, so that nothing has been compiled before.
        options = {"propagation": Pathwise(13), "reader": ParticleFilter(13), "num_samples": 20 + i}
        predictor.simulate(record(length, seed=1), n_init=N_INIT, seed=0, **options)
    assert 1 <= traced.count("runs") <= 3
    assert traced.count("filters") == (kind == "small")
    assert len(compiled) - before <= 10, "those, noise, and a few that split keys"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["small", "lagged"])
def test_a_thousand_lengths_would_need_ten_programs(request, monkeypatch, kind):
    """One length of each of the many sizes that there were, from 25 to 1019; `benchmarks.service` runs all."""
    predictor, traced = request.getfixturevalue(kind), []
    for module in (_run, _free_run):
        monkeypatch.setattr(module, "side_by_side", _noting(traced, "runs", module.side_by_side))
    before, whole = len(compiled), record(1019, seed=1)
    for length in np.unique(np.geomspace(25, 1019, 40).astype(int)):
        options = {"propagation": Pathwise(11), "reader": ParticleFilter(11), "num_samples": 8}
        predictor.simulate(whole.head(int(length)), n_init=N_INIT, seed=0, **options)
    assert traced.count("runs") <= 10
    assert len(compiled) - before <= 20, "those, noise in coarser sizes, the filter, and a few that split keys"


def _noting(into: list[str], what: str, function: Callable) -> Callable:
    """The function, noting that it was called: while a program is traced, once for each."""

    def noted(*args, **kwargs):
        into.append(what)
        return function(*args, **kwargs)

    return noted


@pytest.mark.parametrize("kind", ["small", "lagged"])
def test_several_horizons_at_once_are_what_each_is_by_itself(request, kind):
    predictor, episode = request.getfixturevalue(kind), record(LENGTH, seed=7, missing=0.2)
    horizons = (1, 3, 5)
    together = predictor.predict_each(episode, horizons=horizons, num_samples=20, seed=3)
    for horizon, found in zip(horizons, together, strict=True):
        alone = predictor.predict(episode, horizon=horizon, num_samples=20, seed=3)
        assert found.start == alone.start and len(found) == len(alone)
        _same_run(found, alone)
    with pytest.raises(gpssm.DataError, match="horizon=99"):
        predictor.predict_each(episode, horizons=(1, 99))
    with pytest.raises(gpssm.DataError, match="at least one number of steps"):
        predictor.predict_each(episode, horizons=())


def test_several_horizons_cost_one_program(small):
    episode = record(LENGTH, seed=7)
    small.predict_each(episode, horizons=(3, 6), num_samples=24, seed=0)
    compiled.clear()
    small.predict_each(episode, horizons=(5, 6), num_samples=24, seed=0)
    assert not compiled, "horizons are numbers, not programs"
