"""`Auto` keeps what predicts best, says why, and is never behind the simple models that it has tried itself."""

import numpy as np
import pytest

import gpssm
from gpssm.evaluate import HeldOut, Stretches, Trial
from gpssm.methods import _tried
from gpssm.predict import Autoregression, ConstantPredictor, LinearPredictor
from tests.optimisers.small_task import Listening


def driven(function, steps: int = 90, seed: int = 0, records: int = 1) -> gpssm.Episodes:
    """y[t+1] = function(y[t], u[t]) + noise."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(records):
        u, y = rng.standard_normal((steps, 1)), np.zeros((steps, 1))
        for t in range(steps - 1):
            y[t + 1] = function(y[t], u[t]) + 0.02 * rng.standard_normal()
        made.append(gpssm.Episode(y=y, u=u, name=f"run {i}"))
    return gpssm.Episodes(made)


def linear(y, u):
    return 0.8 * y + 0.5 * u


def quick(data: gpssm.Episodes, told: Listening | None = None, **options) -> gpssm.Fit:
    return gpssm.fit(data, gpssm.Auto(effort="quick", **options), progress=told or gpssm.Silent(), seed=0)


def test_stretches_are_held_out_together_and_never_trained_on():
    (record,) = data = driven(linear, 100)
    folds = Stretches(4).split(data, n_init=6)
    assert len(folds) == 4 and all(fold.train is folds[0].train for fold in folds)
    kept = {value for piece in folds[0].train for value in piece.y[:, 0].tolist()}
    held = [fold.test[0].y[6:, 0].tolist() for fold in folds]
    assert all(len(part) == 5 for part in held)
    assert not kept & {value for part in held for value in part}
    assert len(kept) == 80
    # What is read before a stretch is trained on, and lies right before it in the record.
    for fold in folds:
        (whole,) = fold.test
        assert set(whole.y[:6, 0].tolist()) <= kept
        first = record.y[:, 0].tolist().index(whole.y[0, 0])
        np.testing.assert_array_equal(whole.y, record.y[first : first + len(whole)])


def test_of_many_episodes_whole_ones_are_held_out():
    data = driven(linear, 20, records=11)
    folds = Stretches().split(data, n_init=4)
    assert [fold.test[0].name for fold in folds] == ["run 1", "run 5", "run 9"]
    assert len(folds[0].train) == 8


def test_records_that_are_too_short_are_refused():
    with pytest.raises(gpssm.DataError, match="too short"):
        Stretches(4).split(driven(linear, 12), n_init=6)


def test_a_linear_system_is_recognised_at_once_and_the_choice_is_explained():
    told = Listening()
    made = quick(driven(linear), told)
    assert isinstance(made.system, LinearPredictor | Autoregression)
    assert made.result is gpssm.Result.finished
    (why,) = [event for event in made.history.events if event.startswith("chosen: ")]
    assert "held-out stretches" in why and "next is" in why
    assert any(message.startswith("linear: error") for message in told.messages)
    assert [type(part.method).__name__ for part in made.parts] == ["Constant", "Subspace", "Subspace", "ARX", "ARX"]


@pytest.mark.system
def test_noise_is_a_constant():
    rng = np.random.default_rng(3)
    data = gpssm.Episodes([gpssm.Episode(y=rng.standard_normal((200, 1)), u=rng.standard_normal((200, 1)))])
    made = quick(data)
    error = {part.method: _error(part, data) for part in made.parts}
    assert isinstance(made.system, ConstantPredictor) or _error(made, data) <= 1.02 * min(error.values())


def _error(fit: gpssm.Fit, data: gpssm.Episodes) -> float:
    run = fit.system.simulate(data[0], n_init=10, seed=0)
    return float(np.sqrt(np.mean((data[0].y[10:] - run.median) ** 2)))


def test_the_winner_is_never_behind_what_was_tried():
    """By the errors in the table that is shown."""
    made = quick(driven(lambda y, u: 0.9 * np.tanh(y) + 0.4 * u, 120, seed=5))
    lines = made.history.events[-1].splitlines()[1:]
    errors = [float(line.split("±")[2].split()[-1]) for line in lines]
    (kept,) = [i for i, line in enumerate(lines) if line[0] == ">"]
    (why,) = [event for event in made.history.events if event.startswith("chosen: ")]
    assert why.startswith(f"chosen: {lines[kept][2:].split('  ')[0]}.")
    assert len(errors) == 5 and errors[kept] == min(errors)


def test_inputs_that_act_at_once_are_noticed_and_all_that_follows_knows():
    told = Listening()
    plain = driven(linear, 120)
    direct = gpssm.Episodes([episode._replace(y=episode.y + 0.9 * episode.u) for episode in plain])
    made = quick(direct, told)
    assert any("act on outputs of their own step" in message for message in told.messages)
    assert made.system.direct is not None
    shift = made.system.direct.direct * made.system.direct.output_scale[:, None] / made.system.direct.input_scale
    assert shift[0, 0] == pytest.approx(0.9, abs=0.05)
    heard = Listening()
    assert quick(plain, heard).system.direct is None
    assert not any("own step" in message for message in heard.messages)


def test_a_model_is_not_lost_for_bands_that_are_too_narrow():
    """The factor by which all spreads are multiplied is the one under which the misses are most likely."""
    rng = np.random.default_rng(0)
    missed = 3.0 * rng.standard_normal((4000, 1))
    narrow = HeldOut(missed, np.ones((4000, 1)), np.ones((4000, 1), bool))
    (wide,) = _tried._at_best_width([Trial("a", "f", 0, narrow.log_density, narrow.error, held_out=narrow)])
    best = -0.5 - np.log(3.0) - 0.5 * np.log(2.0 * np.pi)
    assert narrow.log_density < best - 1.0
    assert wide.log_density == pytest.approx(best, abs=0.02)
    failed = Trial("a", "f", 0, -np.inf, np.inf, "why")
    assert _tried._at_best_width([failed]) == [failed]


def test_a_refit_that_ends_poorly_is_not_kept(monkeypatch):
    monkeypatch.setattr(_tried.Tried, "judged", lambda self, name, made: -10.0)
    made = quick(driven(linear))
    assert any("ended in a poorer optimum" in event for event in made.history.events)
    (record,) = driven(linear, seed=1)
    ours, parts = made.system, [part.system for part in made.parts]
    runs = [system.simulate(record, n_init=8, num_samples=5, seed=0).samples for system in (ours, *parts)]
    assert any(np.array_equal(runs[0], run) for run in runs[1:]), "one of those without the stretches"


def test_what_cannot_be_fitted_does_not_end_the_others():
    data = gpssm.Episodes([gpssm.Episode(y=np.cumsum(np.ones((26, 1)), axis=0) ** 2, u=None)])
    made = quick(data)
    assert made.result is gpssm.Result.finished


@pytest.mark.system
def test_too_little_to_hold_out_is_fitted_without_a_comparison():
    told = Listening()
    gp = gpssm.Polished(num_inducing=3, hidden=2, steps=50, iterations=2, network_steps=0)
    made = gpssm.fit(driven(linear, 4), gpssm.Auto(1, gp=gp), progress=told, seed=0)
    assert isinstance(made.system, gpssm.System)
    assert any("too short" in message for message in told.messages)


@pytest.mark.parametrize("wrong", [{"effort": "some"}, {"states": 0}, {"states": (1, 0)}])
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        gpssm.Auto(**wrong)
