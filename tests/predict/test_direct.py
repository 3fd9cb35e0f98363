"""A direct input term, whatever the model: y + D u is predicted as y is, and D u added."""

from dataclasses import replace

import numpy as np
import pytest

import gpssm
from gpssm.predict import Channels, LinearPredictor, LinearSystem, MeanOnly, MixturePredictor
from tests.predict.test_conformance import HORIZON, N_INIT, SAMPLES, made, record, train
from tests.predict.test_linear_predictor import MEAN, MODEL, SCALE
from tests.reference.kalman import posterior

KINDS = ("Constant", "PreviousEpisode", "ARX", "GPNARX", "Linear", "Subspace", "GPSSM")
each = pytest.mark.parametrize("kind", KINDS)
TERM = np.array([[0.7], [-1.3]])
"""In the units of the data."""


def with_term(system, term: np.ndarray = TERM):
    """The same model of what the term leaves of the outputs."""
    scaler = system.scaler or gpssm.Scaler.from_episodes(train())
    scaled = term * scaler.input_scale / scaler.output_scale[:, None]
    return replace(system, scaler=replace(scaler, direct=scaled))


def moved(episode: gpssm.Episode, scaler: gpssm.Scaler) -> tuple[gpssm.Episode, np.ndarray]:
    """The record with the term added to its outputs, and what was added."""
    added = (episode.u - scaler.input_mean) @ TERM.T
    return episode._replace(y=episode.y + added), added


@each
def test_a_record_with_the_term_is_predicted_as_the_one_without_and_the_term_added(kind):
    plain, system = made(kind), with_term(made(kind))
    shifted, added = moved(record(), system.scaler)
    options = {"num_samples": SAMPLES, "seed": 0}
    asked = [
        lambda model, episode: model.simulate(episode, n_init=N_INIT, **options),
        lambda model, episode: model.predict(episode, horizon=HORIZON, **options),
        lambda model, episode: model.forecast(episode.head(N_INIT), inputs=episode.u[N_INIT:], **options),
    ]
    for ask in asked:
        before, after = ask(plain, record()), ask(system, shifted)
        expected = added[after.start : after.start + len(after)]
        for part in ("signals", "samples"):
            np.testing.assert_allclose(getattr(after, part), getattr(before, part) + expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(after.states, before.states, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(after.noise_std, before.noise_std)


@pytest.mark.parametrize("kind", ["Linear", "GPSSM"])
def test_states_are_those_without_the_term_and_their_outputs_have_it(kind):
    plain, system = made(kind), with_term(made(kind))
    shifted, added = moved(record(), system.scaler)
    readers = [{}] if plain.recognition is None else [{}, {"reader": plain.recognition}]
    pairs = [(plain.smooth(record(), **r), system.smooth(shifted, **r)) for r in readers]
    for before, after in [*pairs, (plain.filter(record()), system.filter(shifted))]:
        np.testing.assert_allclose(after.means, before.means, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(after.outputs, before.outputs + added, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(after.output_std, before.output_std, rtol=1e-8, atol=1e-8)
    run, other = (
        model.simulate_from(np.zeros(2), inputs=record().u, num_samples=3, seed=0) for model in (system, plain)
    )
    np.testing.assert_allclose(run.samples, other.samples + added, rtol=1e-9, atol=1e-9)


def test_the_online_filter_takes_the_term_off_what_it_reads_and_adds_it_to_what_it_expects():
    plain, system = made("Linear"), with_term(made("Linear"))
    shifted, added = moved(record(), system.scaler)
    one, other = plain.online(), system.online()
    for t in range(4):
        mean, covariance = one.update(record().y[t], record().u[t])
        again, spread = other.update(shifted.y[t], shifted.u[t])
        np.testing.assert_allclose(again, mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(spread, covariance, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(other.predicted, one.predicted + added[t], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(other.innovation, one.innovation, rtol=1e-8, atol=1e-8)


def test_predictions_are_those_of_the_dense_gaussian():
    """Y[t] = W x[t] + D u[t] + b with two outputs and two inputs: a transposed or misplaced D would be seen."""
    m, steps, n_init = MODEL, 9, 4
    direct = np.array([[0.4, -1.1], [2.0, 0.3]])
    scaler = gpssm.Scaler(
        output_mean=MEAN, output_scale=SCALE, input_mean=np.ones(2), input_scale=np.full(2, 4.0), direct=direct
    )
    system = LinearSystem(m.A, m.B, m.c, m.W, m.b, np.diag(m.Q), m.R, np.zeros(2), np.eye(2))
    model = LinearPredictor(system, scaler, Channels(("a", "b"), ("u", "v")))
    rng = np.random.default_rng(3)
    y, u = rng.standard_normal((steps, 2)), rng.standard_normal((steps, 2))
    names = {"output_names": ["a", "b"], "input_names": ["u", "v"]}
    episode = gpssm.Episode(y=y * SCALE + MEAN, u=4.0 * u + 1.0, **names)
    rest = y - u @ direct.T

    def expected(known: int, at: int) -> np.ndarray:
        shown = np.zeros((steps, 2), dtype=bool)
        shown[:known] = True
        mean = posterior(m, rest, u, shown)[0].reshape(steps, 2)
        return (m.W @ mean[at] + m.b + direct @ u[at]) * SCALE + MEAN

    run = model.simulate(episode, n_init=n_init, propagation=MeanOnly(), seed=0)
    for i, at in enumerate(range(n_init, steps)):
        np.testing.assert_allclose(run.signals[0, i], expected(n_init, at), rtol=1e-9)
    ahead = model.predict(episode, horizon=2, propagation=MeanOnly(), seed=0)
    for i, at in enumerate(range(2, steps)):
        np.testing.assert_allclose(ahead.signals[0, i], expected(at - 1, at), rtol=1e-9)


def test_members_of_a_mixture_may_have_terms_of_their_own():
    term = np.array([[2.0], [0.5]])
    members = made("Constant"), with_term(made("Constant"), term)
    run = MixturePredictor(members).simulate(record(), n_init=N_INIT, num_samples=4, propagation=MeanOnly(), seed=0)
    added = (record().u - members[1].scaler.input_mean) @ term.T
    np.testing.assert_allclose(run.signals[:2], np.broadcast_to(members[0].mean, run.signals[:2].shape))
    for signal in run.signals[2:]:
        np.testing.assert_allclose(signal, members[0].mean + added[N_INIT:])


@each
def test_files_keep_the_term(kind, tmp_path):
    system = with_term(made(kind))
    gpssm.save(system, tmp_path / "model.gpssm")
    again = gpssm.load(tmp_path / "model.gpssm")
    np.testing.assert_array_equal(again.direct.direct, system.direct.direct)
    one, other = (model.simulate(record(), n_init=N_INIT, num_samples=3, seed=0) for model in (system, again))
    np.testing.assert_array_equal(one.samples, other.samples)
    told = gpssm.describe(tmp_path / "model.gpssm")["direct input term (your units)"]
    names = record().input_names[0]
    first, second = record().output_names
    assert told == f"{first} has 0.7 of {names}; {second} has -1.3 of {names}"


def test_models_without_it_say_nothing_of_it():
    assert not any("direct" in row for kind in KINDS for row in made(kind).describe())
