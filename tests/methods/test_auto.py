"""`Auto` keeps what predicts best, says why, and is never behind the simple models that it has tried itself."""

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.evaluate import HeldOut, Stretches, Trial
from gpssm.fitting import Prepared, Run
from gpssm.methods import _auto, _tried
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
    tests = [fold.test[0] for fold in folds]
    held = [test.y[6:, 0][test.observed[6:, 0]].tolist() for test in tests]
    assert all(len(part) == 5 for part in held)
    assert not kept & {value for part in held for value in part}
    assert len(kept) == 80
    # A run reads the first six outputs of the record, and no other before its stretch or after it.
    starts = [record.y[:, 0].tolist().index(part[0]) for part in held]
    assert starts == [16, 37, 58, 79]
    for test, start in zip(tests, starts, strict=True):
        shown = [*range(6), *range(start, start + 5)]
        assert len(test) == 84 and np.flatnonzero(test.observed[:, 0]).tolist() == shown
        np.testing.assert_array_equal(test.u, record.u[:84])
        np.testing.assert_array_equal(test.y[shown], record.y[shown])


def test_runs_of_long_records_begin_later():
    (record,) = data = driven(linear, 400)
    tests = [fold.test[0] for fold in Stretches(4, furthest=100).split(data, n_init=6)]
    # Stretches of 20 steps begin at 64, 148, 232 and 316.
    assert [len(test) for test in tests] == [120] * 4
    for test, begin, start in zip(tests, (0, 48, 132, 216), (64, 148, 232, 316), strict=True):
        shown = [*range(6), *range(start - begin, start - begin + 20)]
        assert np.flatnonzero(test.observed[:, 0]).tolist() == shown
        np.testing.assert_array_equal(test.u, record.u[begin : begin + 120])


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


@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_simple_methods_are_simple_whatever_the_effort(monkeypatch, effort):
    """What is kept may be behind none of them, so that `quick` keeps the most accurate one."""
    kept, data = [], driven(linear, 100)
    made = gpssm.fit(data, gpssm.Constant(), progress=gpssm.Silent())
    monkeypatch.setattr(_tried.Tried, "attempt", lambda self, name, method: self.methods.update({name: method}))
    monkeypatch.setattr(gpssm.Auto, "_try_free_runs", lambda self, tried, states, budget: 2)
    monkeypatch.setattr(gpssm.Auto, "_final", lambda self, tried, data, run, key: kept.append(tried) or made)
    gpssm.Auto(effort=effort).fit(Prepared.of(data), Run(), key=jr.key(0))
    assert kept[0].simple == {"constant", "linear", "linear, direct", "arx 2", "arx 4"}


def test_a_thorough_call_tries_what_there_is(monkeypatch):
    """And with little time the simple methods only."""
    tried = []

    def note(self, name, method):
        tried.append(name)
        self.methods[name], self.trials[name] = method, []

    monkeypatch.setattr(_tried.Tried, "attempt", note)
    monkeypatch.setattr(_tried.Tried, "value", lambda self, name: 0.0)
    data = driven(linear, 300)
    made = gpssm.fit(data, gpssm.Constant(), progress=gpssm.Silent())
    monkeypatch.setattr(gpssm.Auto, "_final", lambda self, tried, data, run, key: made)
    gpssm.Auto(2, "thorough").fit(Prepared.of(data), Run(), key=jr.key(0))
    simple = ["constant", "linear", "linear, direct", "arx 2", "arx 4"]
    rich = ["output error 2", "output error 3", "gp 2", "gp 3", "marginal 2", "marginal around linear 2"]
    assert tried == [*simple, *rich, "most likely linear"]
    tried.clear()
    gpssm.Auto(2, "thorough", minutes=0.01).fit(Prepared.of(data), Run(), key=jr.key(0))
    assert tried == simple


@pytest.mark.parametrize(("steps", "polish"), [(150, 0), (300, 40)])
def test_from_few_samples_little_is_tried(monkeypatch, steps, polish):
    """Up to 200 of them a GP has one number of states, and is not polished."""
    tried = {}

    def note(self, name, method):
        tried[name] = method
        self.trials[name] = []
        return None

    monkeypatch.setattr(_tried.Tried, "attempt", note)
    monkeypatch.setattr(_tried.Tried, "value", lambda self, name: 0.0)
    data = driven(linear, steps)
    made = gpssm.fit(data, gpssm.Constant(), progress=gpssm.Silent())
    monkeypatch.setattr(gpssm.Auto, "_final", lambda self, tried, data, run, key: made)
    gpssm.Auto().fit(Prepared.of(data), Run(), key=jr.key(0))
    rich = [method for name, method in tried.items() if name.startswith("gp")]
    assert [method.iterations for method in rich] == [polish]
    assert {name for name in tried if name.startswith("output error")} == {"output error 2"}


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


def test_errors_of_all_methods_are_in_the_same_units(monkeypatch):
    """A direct term that is most of an output leaves little of it to learn, and other units to learn that in."""
    kept = []

    def note(self, tried, data, run, key):
        kept.append(tried)
        return tried.fits["linear, direct"]

    monkeypatch.setattr(gpssm.Auto, "_final", note)
    data = gpssm.Episodes([episode._replace(y=episode.y + 9.0 * episode.u) for episode in driven(linear, 120)])
    quick(data)
    (tried,) = kept
    scale = gpssm.Scaler.from_episodes(data).output_scale[0]
    learnt_in = {name: fit.system.direct for name, fit in tried.fits.items()}
    assert learnt_in["linear"] is None and learnt_in["arx 2"].output_scale[0] < 0.5 * scale
    for name, trials in tried.trials.items():
        for trial in trials:
            assert trial.error == pytest.approx(trial.score.rmse_overall / scale), name


def test_a_refit_with_a_direct_term_is_judged_as_the_first_fit_was():
    made = quick(gpssm.Episodes([e._replace(y=e.y + 9.0 * e.u) for e in driven(linear, 120)]))
    assert made.system.direct is not None
    assert not any("poorer optimum" in event for event in made.history.events)


def test_a_model_is_not_lost_for_bands_that_are_too_narrow():
    """The factor by which all spreads are multiplied is the one under which the misses are most likely."""
    rng = np.random.default_rng(0)
    missed = 3.0 * rng.standard_normal((4000, 1))
    narrow = HeldOut(missed, np.ones((4000, 1)), np.ones((4000, 1), bool))
    (wide,), width = _tried._at_best_width([Trial("a", "f", 0, narrow.log_density, narrow.error, held_out=narrow)])
    best = -0.5 - np.log(3.0) - 0.5 * np.log(2.0 * np.pi)
    assert narrow.log_density < best - 1.0
    assert wide.log_density == pytest.approx(best, abs=0.02)
    failed = Trial("a", "f", 0, -np.inf, np.inf, "why")
    assert _tried._at_best_width([failed]) == ([failed], 1.0)
    assert width == pytest.approx(3.0, rel=0.13)  # as fine as the factors are that are looked at


@pytest.mark.parametrize(("asked", "given"), [(1.6, 1.6), (1.0, 1.0), (0.6, 1.0)])
def test_bands_are_as_wide_as_the_stretches_ask_for_and_never_narrower(monkeypatch, asked, given):
    monkeypatch.setattr(_tried, "_at_best_width", lambda trials: (trials, asked))
    told = Listening()
    made = quick(driven(linear), told)
    assert made.system.free_run_width == given
    assert all(part.system.free_run_width == 1.0 for part in made.parts)
    said = "free runs over held-out stretches asked for bands 1.6 times as wide: that is their width now"
    assert (said in made.history.events) == (said in told.messages) == (given > 1.0)
    assert made.system.history.events == made.history.events


@pytest.mark.system
def test_what_an_interrupted_comparison_leaves_has_the_width_that_was_asked_for(monkeypatch):
    monkeypatch.setattr(_tried, "_at_best_width", lambda trials: (trials, 2.0))
    told = Listening()
    run = Run(told)
    monkeypatch.setattr(told, "say", lambda message: message.startswith("arx") and run.interruption.request())
    made = gpssm.Auto(effort="quick").fit(Prepared.of(driven(linear)), run, key=jr.key(0))
    assert made.result is gpssm.Result.interrupted
    assert made.system.free_run_width == 2.0


def test_a_refit_that_ends_poorly_is_not_kept(monkeypatch):
    monkeypatch.setattr(_tried.Tried, "clearly_worse", lambda self, name, made, by: True)
    made = quick(driven(linear))
    assert any("ended in a poorer optimum" in event for event in made.history.events)
    (record,) = driven(linear, seed=1)
    width = made.system.free_run_width
    systems = [made.system, *(part.system.widened(width) for part in made.parts)]
    ours, *others = [system.simulate(record, n_init=8, num_samples=5, seed=0).samples for system in systems]
    assert any(np.array_equal(ours, run) for run in others), "one of those without the stretches"


def test_a_refit_that_fails_leaves_the_first_fit(monkeypatch):
    for method in (gpssm.Subspace, gpssm.ARX):

        def fit(self, data, run, *, key, usual=method.fit):
            if "final" in run.name:
                raise ValueError("no such luck")
            return usual(self, data, run, key=key)

        monkeypatch.setattr(method, "fit", fit)
    made = quick(driven(linear))
    assert any("with them it failed, ValueError: no such luck" in event for event in made.history.events)
    assert not isinstance(made.system, ConstantPredictor)


def test_an_interrupted_refit_leaves_the_first_fit(monkeypatch):
    monkeypatch.setattr(_auto, "chosen", lambda selection, simple: "linear")
    told = Listening()
    run = Run(told)

    def ask(message: str) -> None:
        if message == "fitting linear to all records":
            run.interruption.request()

    monkeypatch.setattr(told, "say", ask)
    made = gpssm.Auto(effort="quick").fit(Prepared.of(driven(linear)), run, key=jr.key(0))
    assert made.result is gpssm.Result.interrupted
    assert made.system.system is made.parts[1].system.system


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
