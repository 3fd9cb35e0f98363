"""What every predictor promises, whatever it is: shapes, keys, channels, and not to look ahead."""

import pickle
from functools import cache
from typing import Any

import jax
import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm._core._params import cast
from gpssm.baselines import TrueSimulator
from gpssm.inference import BiRNN
from gpssm.methods import ARX, GPNARX, Constant, Direct, Linear, PreviousEpisode, Subspace
from gpssm.models import GPSSM
from gpssm.predict import AbstractPredictor, Channels, IndependentSteps, MeanOnly, MixturePredictor, Pathwise
from gpssm.systems import Pendulum
from tests.reference.compiling import constant
from tests.reference.fitting import learnt

STEPS, N_INIT, HORIZON, SAMPLES = 12, 5, 2, 6


@constant
def records() -> gpssm.Episodes:
    """Two outputs, one input, all states measured."""
    return Pendulum().simulate(episodes=3, steps=STEPS, observed=(0, 1), key=jr.key(0)).episodes


def record() -> gpssm.Episode:
    return records()[2]


def train() -> gpssm.Episodes:
    return records()[:2]


def _state_space() -> gpssm.System:
    """Untrained, because nothing here depends on how good a model is."""
    model = GPSSM.from_data(train(), state_dim=2, num_inducing=6, key=jr.key(1))
    network = BiRNN.from_data(train(), state_dim=2, hidden=3, key=jr.key(2))
    scaler = gpssm.Scaler.from_episodes(train())
    return gpssm.System(*cast((model,), np.float64), scaler, Channels.of(train()), cast(network, np.float64))


MAKERS = {
    "Constant": lambda: learnt(train(), Constant()),
    "PreviousEpisode": lambda: learnt(train(), PreviousEpisode()),
    "ARX": lambda: learnt(train(), ARX(2)),
    "GPNARX": lambda: learnt(train(), GPNARX(1, restarts=1, iterations=3)),
    "Linear": lambda: learnt(train(), Linear(2, iterations=5)),
    "Subspace": lambda: learnt(train(), Subspace(2)),
    "Direct": lambda: learnt(train(), Direct(ARX(2))),
    "GPSSM": _state_space,
    "Mixture": lambda: MixturePredictor((made("ARX"), made("Constant")), (1.0, 2.0), 0.8),
    "MixtureOfBoth": lambda: MixturePredictor((made("Direct"), made("Subspace")), (1.0, 1.0), 0.9),
    "TrueSimulator": lambda: TrueSimulator.of(Pendulum(), (0, 1), train()),
}
BLIND = ("Constant", "PreviousEpisode")
"""Those that do not read the past at all."""
AT_ONCE = ("Direct", "MixtureOfBoth")
"""Those with a direct term."""
each = pytest.mark.parametrize("name", MAKERS)
each_that_reads = pytest.mark.parametrize("name", [name for name in MAKERS if name not in BLIND])


@cache
def made(name: str) -> AbstractPredictor:
    return MAKERS[name]()


def simulate(system: AbstractPredictor, episode: gpssm.Episode, **options: Any) -> gpssm.Rollout:
    return system.simulate(episode, **({"n_init": N_INIT, "num_samples": SAMPLES, "seed": 0} | options))


def predict(system: AbstractPredictor, episode: gpssm.Episode, **options: Any) -> gpssm.Rollout:
    return system.predict(episode, **({"horizon": HORIZON, "num_samples": SAMPLES, "seed": 0} | options))


@cache
def simulated(name: str) -> gpssm.Rollout:
    return simulate(made(name), record())


@cache
def predicted(name: str) -> gpssm.Rollout:
    return predict(made(name), record())


def with_arrays(*, y: np.ndarray | None = None, u: np.ndarray | None = None, **names: Any) -> gpssm.Episode:
    """The record with something changed."""
    episode = record()
    same = {"dt": episode.dt, "output_names": episode.output_names, "input_names": episode.input_names}
    return gpssm.Episode(y=episode.y if y is None else y, u=episode.u if u is None else u, **(same | names))


def from_step(values: np.ndarray, step: int) -> np.ndarray:
    """Other values from a step on."""
    changed = np.array(values)
    changed[step:] += 1.0 + np.arange(len(values) - step)[:, None]
    return changed


def assert_same(a: gpssm.Rollout, b: gpssm.Rollout, until: int | None = None) -> None:
    """Bit for bit, up to a step of the record."""
    assert a.start == b.start
    rows = slice(None if until is None else until - a.start)
    for field in ("signals", "samples", "states"):
        np.testing.assert_array_equal(getattr(a, field)[:, rows], getattr(b, field)[:, rows])


def assert_shapes(run: gpssm.Rollout, name: str, start: int, steps: int) -> None:
    assert (run.start, len(run)) == (start, steps)
    assert run.signals.shape == run.samples.shape == (SAMPLES, steps, 2)
    assert run.states.shape[:2] == (SAMPLES, steps)
    assert all(np.isfinite(part).all() for part in (run.signals, run.samples, run.states))
    assert np.all(run.noise_std > 0.0) and run.noise_std.shape == (2,)
    assert run.output_names == record().output_names
    np.testing.assert_allclose(run.time, record().dt * np.arange(start, start + steps))
    assert np.all(run.samples.std(axis=0) > 0.0)


@each
def test_a_free_run_begins_after_the_samples_it_saw(name):
    assert_shapes(simulated(name), name, N_INIT, STEPS - N_INIT)


@each
def test_a_prediction_ahead_begins_as_soon_as_it_can(name):
    start = made(name).least_context - 1 + HORIZON
    assert_shapes(predicted(name), name, start, STEPS - start)


WIDE = [name for name in MAKERS if not name.startswith("Mixture") and name != "TrueSimulator"]


@pytest.mark.parametrize("name", WIDE)
def test_widened_free_runs_spread_about_the_same_median_and_predictions_by_horizon_stay(name):
    wide, before = made(name).widened(2.0), simulated(name)
    after = simulate(wide, record())
    np.testing.assert_allclose(after.median, before.median, rtol=1e-12)
    np.testing.assert_allclose(after.samples - before.median, 2.0 * (before.samples - before.median), atol=1e-12)
    np.testing.assert_allclose(after.std, 2.0 * before.std)
    assert_same(predict(wide, record()), predicted(name))
    assert_same(simulate(wide.widened(1.0), record()), before)
    told = "bands of free runs"
    assert wide.describe()[told].startswith("2 times") and told not in made(name).describe()


def test_a_width_that_makes_no_sense_is_refused():
    for width in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="must be positive and finite"):
            made("ARX").widened(width)
    with pytest.raises(TypeError, match="MixturePredictor has no width of its free runs"):
        made("Mixture").widened(2.0)


@each
def test_a_forecast_is_the_free_run_over_the_record_that_goes_on(name):
    forecast = made(name).forecast(record().head(N_INIT), inputs=record().u[N_INIT:], num_samples=SAMPLES, seed=0)
    assert_same(forecast, simulated(name))


@each
def test_the_least_context_is_enough_and_less_is_refused(name):
    system, least = made(name), made(name).least_context
    with pytest.raises(gpssm.DataError, match=rf"n_init={least - 1}: need at least {least}"):
        simulate(system, record(), n_init=least - 1)
    if least > 1:
        with pytest.raises(gpssm.DataError, match=rf"has {least - 1} samples; need at least {least}"):
            system.forecast(record().head(least - 1), inputs=np.zeros((2, 1)))
    with pytest.raises(gpssm.DataError, match=f"at most {STEPS - least}"):
        predict(system, record(), horizon=STEPS - least + 1)
    steps = STEPS - N_INIT  # As many as elsewhere, for which the program is there already.
    run = system.forecast(record().head(least), inputs=np.zeros((steps, 1)), num_samples=SAMPLES)
    assert (run.start, len(run)) == (least, steps)


@each
def test_the_same_seed_gives_the_same_bits_and_another_one_others(name):
    for same in ({"seed": 0}, {"seed": None}, {"seed": None, "key": 0}, {"seed": None, "key": jr.key(0)}):
        assert_same(simulate(made(name), record(), **same), simulated(name))
    assert_same(predict(made(name), record()), predicted(name))
    assert not np.any(simulate(made(name), record(), seed=1).samples == simulated(name).samples)
    assert not np.any(predict(made(name), record(), seed=1).samples == predicted(name).samples)
    with pytest.raises(ValueError, match="either key= or seed="):
        simulate(made(name), record(), key=0, seed=0)


@each
def test_a_free_run_does_not_see_later_outputs(name):
    blind = with_arrays(y=from_step(record().y, N_INIT))
    assert_same(simulate(made(name), blind), simulated(name))
    gone = np.array(record().y)
    gone[N_INIT:] = np.nan
    assert_same(simulate(made(name), with_arrays(y=gone)), simulated(name))


@each_that_reads
def test_a_free_run_does_see_the_last_sample_before_it(name):
    other = simulate(made(name), with_arrays(y=from_step(record().y, N_INIT - 1)))
    assert not np.array_equal(other.signals[:, 0], simulated(name).signals[:, 0])


@each
def test_a_prediction_ahead_does_not_see_the_outputs_in_between(name):
    """What is predicted for step s may depend on outputs up to s - horizon, and on nothing after that."""
    for step in (3, 7):
        other = predict(made(name), with_arrays(y=from_step(record().y, step)))
        assert_same(other, predicted(name), until=step + HORIZON)
        if name not in BLIND:
            first = step + HORIZON - other.start
            assert not np.array_equal(other.signals[:, first], predicted(name).signals[:, first])


@each
def test_an_input_is_felt_after_the_step_it_is_held_from(name):
    """With a direct term at that step itself."""
    step, felt = 7, 7 if name in AT_ONCE else 8
    other = with_arrays(u=from_step(record().u, step))
    for ask, before in ((simulate, simulated(name)), (predict, predicted(name))):
        after = ask(made(name), other)
        assert_same(after, before, until=felt)
        if name not in BLIND:
            first = felt - after.start
            assert not np.array_equal(after.signals[:, first], before.signals[:, first])


@each
def test_without_noise_there_is_one_trajectory_whatever_the_seed(name):
    one, other = (simulate(made(name), record(), propagation=MeanOnly(), seed=seed) for seed in (0, 1))
    np.testing.assert_array_equal(one.signals, other.signals)
    if name.startswith("Mixture"):
        # Each member has one, which stands for its share of all.
        assert len(one.signals) == SAMPLES
        assert len(np.unique(one.signals, axis=0)) == 2
    else:
        assert len(one.signals) == 1


@each
def test_functions_are_drawn_for_whole_trajectories_unless_told_otherwise(name):
    assert_same(simulate(made(name), record(), propagation=Pathwise()), simulated(name))
    independent = simulate(made(name), record(), propagation=IndependentSteps())
    assert_shapes(independent, name, N_INIT, STEPS - N_INIT)


@each
def test_a_copy_that_was_pickled_predicts_the_same_bits(name):
    """Also where it is read by someone who works in single precision."""
    stored = pickle.dumps(made(name))
    with jax.enable_x64(False):
        again = pickle.loads(stored)
        run = simulate(again, record())
    assert run.samples.dtype == np.float64
    assert_same(run, simulated(name))
    assert again.describe() == made(name).describe()


@each
def test_it_can_be_said_in_words(name):
    words = made(name).describe()
    assert words
    assert all(isinstance(row, str) and row.strip() for pair in words.items() for row in pair)
    assert not any("f64[" in row for row in words.values()), "arrays are no words"


@each
def test_it_knows_its_channels(name):
    system = made(name)
    assert system.channels == Channels.of(train())
    assert (system.output_names, system.input_names, system.dt) == (
        record().output_names,
        record().input_names,
        record().dt,
    )


OTHERS = {
    "swapped": (lambda r: {"output_names": r.output_names[::-1]}, "give them in that order"),
    "renamed": (lambda r: {"output_names": ["angle", "pressure"]}, "pressure"),
    "another input": (lambda r: {"input_names": ["valve"]}, "valve"),
    "another time step": (lambda r: {"dt": 0.5}, "time step 0.5"),
    "an output less": (lambda r: {"y": r.y[:, :1], "output_names": ["angle"]}, "1 outputs"),
    "an input less": (lambda r: {"u": np.zeros((STEPS, 0)), "input_names": []}, "0 inputs"),
}


@each
@pytest.mark.parametrize("change", OTHERS)
def test_records_with_other_channels_are_refused(name, change):
    alter, words = OTHERS[change]
    other, system = with_arrays(**alter(record()), name="other rig"), made(name)
    for ask in (
        lambda: simulate(system, other),
        lambda: predict(system, other),
        lambda: system.forecast(other, inputs=np.zeros((3, 1))),
    ):
        with pytest.raises(gpssm.DataError, match="'other rig'") as caught:
            ask()
        assert words in str(caught.value)


@each
def test_records_without_names_are_taken_by_position(name):
    plain = gpssm.Episode(y=record().y, u=record().u)
    assert_same(simulate(made(name), plain), simulated(name))
