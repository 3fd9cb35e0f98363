"""The rule by which a candidate wins, and that it prefers what it should."""

from dataclasses import replace

import jax
import jax.random as jr
import numpy as np
import pytest
from gpjax.kernels import RBF

import gpssm
from gpssm._core._activity import current
from gpssm.evaluate import Against, Blocks, Selection, Trial, grid
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.methods import SubspaceMean
from gpssm.optimisers import LBFGS, Adam
from gpssm.predict import ConstantPredictor


def scored(**values: list[float]) -> Selection:
    """A selection in which the value of each candidate on each fold is as given."""
    scores = [
        Trial(name, f"fold {i}", 0, log_density=value, error=float(np.exp(-value)))
        for name, each in values.items()
        for i, value in enumerate(each)
    ]
    return Selection(dict.fromkeys(values, gpssm.Constant()), tuple(scores))


def test_value_is_in_nats_for_density_and_error_alike():
    assert Trial("a", "f", 0, log_density=-1.0, error=np.exp(2.0)).value == pytest.approx(-1.5)
    assert Trial("a", "f", 0, log_density=1.0, error=1.0, failed="why").value == -np.inf


def test_simplest_within_one_standard_error_wins():
    selection = scored(simple=[1.0, 2.1, 2.9], complex=[1.05, 2.0, 3.0])
    assert (selection.best, selection.winner) == ("complex", "simple")
    differences = np.array([0.05, -0.1, 0.1])
    assert selection.rows()[0].shortfall == pytest.approx(differences.mean())
    assert selection.rows()[0].shortfall_se == pytest.approx(differences.std(ddof=1) / np.sqrt(3.0))


def test_simpler_candidate_that_is_consistently_worse_does_not_win():
    assert scored(simple=[0.95, 1.95, 2.94], complex=[1.0, 2.0, 3.0]).winner == "complex"


def test_a_certain_but_negligible_loss_is_given_up_for_simplicity():
    assert scored(simple=[0.99, 1.99, 2.99], complex=[1.0, 2.0, 3.0]).winner == "simple"


def test_large_loss_is_not_excused_by_a_large_standard_error():
    assert scored(simple=[1.0, 2.0, 1.0], complex=[1.0, 2.0, 3.0]).winner == "complex"


def test_seeds_are_averaged_before_folds_are_compared():
    scores = [
        Trial("a", f, s, v, float(np.exp(-v)))
        for f, s, v in (("x", 0, 1.0), ("x", 1, 3.0), ("y", 0, 4.0), ("y", 1, 4.0))
    ]
    row = Selection({"a": gpssm.Constant()}, tuple(scores)).rows()[0]
    assert row.value == pytest.approx(3.0)
    assert row.value_se == pytest.approx(np.std([2.0, 4.0], ddof=1) / np.sqrt(2.0))


class Failing(AbstractMethod):
    """Does not fit."""

    error: Exception = gpssm.FitError("no luck\nat all")

    @property
    def deterministic(self) -> bool:
        return False

    def fit(self, data: Prepared, run: Run, *, key) -> Fit:
        raise self.error


class Exploding(AbstractMethod):
    """Fits, and predicts nonsense."""

    value: float = float("nan")

    @property
    def deterministic(self) -> bool:
        return False

    def fit(self, data: Prepared, run: Run, *, key) -> Fit:
        made = gpssm.Constant().fit(data, run, key=key)
        assert isinstance(made.system, ConstantPredictor)
        return replace(made, system=replace(made.system, mean=np.full_like(made.system.mean, self.value)))


class Remembering(AbstractMethod):
    """A constant that remembers what it was fitted to."""

    seen: list

    @property
    def deterministic(self) -> bool:
        return False

    def fit(self, data: Prepared, run: Run, *, key) -> Fit:
        self.seen.append(data.episodes)
        return gpssm.Constant().fit(data, run, key=key)


def noise(steps: int = 80) -> gpssm.Episodes:
    return gpssm.Episodes.from_arrays(y=np.random.default_rng(0).standard_normal(steps))


def test_failures_are_kept_with_a_reason_and_cannot_win():
    candidates = {"failing": Failing(), "exploding": Exploding(), "constant": gpssm.Constant()}
    selection = gpssm.select(candidates, noise(), n_init=3, seeds=1, key=jr.key(0))
    assert selection.winner == "constant"
    failing, exploding, _ = selection.rows()
    assert set(failing.failed) == {"FitError: no luck"} and len(failing.failed) == 4
    assert set(exploding.failed) == {"the free run diverged"}
    assert "failed: FitError: no luck (and 3 more)" in selection.table()
    assert ">*constant" in selection.table()


def test_without_a_candidate_left_there_is_no_winner():
    assert gpssm.select({"failing": Failing()}, noise(), n_init=3, seeds=1, key=jr.key(0)).winner is None


def test_held_out_outputs_are_neither_fitted_nor_read_beyond_the_start():
    episodes, recorder = noise(), Remembering([])
    gpssm.select({"recorder": recorder}, episodes, n_init=3, folds=Blocks(count=4), seeds=2, key=jr.key(0))
    assert len(recorder.seen) == 8
    for i, fitted in enumerate(recorder.seen):
        held = set(episodes[0].y[20 * (i % 4) : 20 * (i % 4 + 1), 0])
        assert not held & {value for piece in fitted for value in piece.y[:, 0]}


def test_constant_has_the_scores_of_its_definition():
    episodes = noise()
    selection = gpssm.select({"constant": gpssm.Constant()}, episodes, n_init=3, key=jr.key(0))
    y, expected = episodes[0].y[:, 0], []
    for k in range(4):
        inside = np.arange(80) // 20 == k
        scored_part = y[inside][3:]
        error = np.sqrt(np.mean((scored_part - y[~inside].mean()) ** 2)) / y.std()
        z = (scored_part - y[~inside].mean()) / y[~inside].std()
        std = y[~inside].std() / y.std()
        expected.append((np.mean(-0.5 * z**2 - np.log(std) - 0.5 * np.log(2.0 * np.pi)), error))
    found = [(score.log_density, score.error) for score in selection.trials]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def driven(function, steps: int = 160) -> gpssm.Episodes:
    """x[t+1] = 0.6 x[t] + function(u[t]), measured with noise."""
    rng = np.random.default_rng(1)
    u, x, y = rng.uniform(-1.5, 1.5, (steps, 1)), 0.0, np.zeros((steps, 1))
    for t in range(steps):
        y[t] = x
        x = 0.6 * x + function(u[t, 0]) + 0.1 * rng.standard_normal()
    return gpssm.Episodes.from_arrays(y=y, u=u)


@pytest.mark.system
@pytest.mark.parametrize("function, kind", [(lambda u: 0.7 * u, "linear"), (lambda u: np.sin(2.5 * u), "gp")])
def test_prefers_the_kind_of_model_that_made_the_data(function, kind):
    candidates = {
        "constant": gpssm.Constant(),
        "linear": gpssm.ARX(output_lags=1),
        "gp": gpssm.GPNARX(output_lags=1, iterations=20),
    }
    selection = gpssm.select(candidates, driven(function), n_init=4, num_samples=200, key=jr.key(0))
    assert selection.winner == kind, selection.table()


def test_same_key_gives_the_same_scores():
    candidates = {"linear": gpssm.ARX(output_lags=1)}
    runs = [gpssm.select(candidates, driven(np.sin), n_init=4, num_samples=40, key=jr.key(3)).trials for _ in range(2)]
    assert runs[0] == runs[1]
    other = gpssm.select(candidates, driven(np.sin), n_init=4, num_samples=40, key=jr.key(4)).trials
    assert runs[0] != other


def test_grid_names_every_combination():
    made = grid("linear", gpssm.Linear, order=(1, 2), max_radius=(0.9, 1.0))
    assert list(made) == [
        "linear order=1, max_radius=0.9",
        "linear order=1, max_radius=1.0",
        "linear order=2, max_radius=0.9",
        "linear order=2, max_radius=1.0",
    ]
    assert made["linear order=2, max_radius=0.9"] == gpssm.Linear(order=2, max_radius=0.9)


def test_linear_mean_is_the_regression_on_the_outputs():
    episodes = driven(lambda u: 0.7 * u)
    mean = SubspaceMean().build(Prepared.of(episodes), 1)
    scaled = gpssm.Scaler.from_episodes(episodes).apply(episodes)[0]
    rows = np.concatenate([scaled.y[:-1], scaled.u[:-1], np.ones((len(scaled) - 1, 1))], axis=1)
    expected = np.linalg.lstsq(rows, scaled.y[1:], rcond=None)[0][:, 0]
    found = [mean.state_matrix.item(), mean.control_matrix.item(), mean.offset.item()]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_the_winner_is_a_method_to_be_fitted():
    methods = {"constant": gpssm.Constant(), "arx": gpssm.ARX(1)}
    selection = gpssm.select(methods, driven(lambda u: 0.7 * u), n_init=4, num_samples=40, key=jr.key(0))
    assert selection.method is methods["arx"] and not selection.interrupted
    assert selection.records()[0]["candidate"] == "constant"
    unnamed = gpssm.select(list(methods.values()), noise(), n_init=3, seeds=1, num_samples=40, seed=0)
    assert unnamed.candidates == tuple(str(method) for method in methods.values())


def test_methods_that_print_alike_need_names():
    """Arrays print by their shape: one of two kernels would silently take the place of the other."""
    alike = [gpssm.GPNARX(kernel=RBF(lengthscale=jax.device_put(np.full(2, scale)))) for scale in (0.5, 2.0)]
    assert str(alike[0]) == str(alike[1])
    with pytest.raises(ValueError, match="give names"):
        gpssm.select(alike, noise(), n_init=3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"methods": {}}, "no methods"), ({"methods": []}, "no methods"), ({"seeds": 0}, "seeds=0")],
)
def test_nothing_to_do_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        gpssm.select(**({"methods": [gpssm.Constant()], "episodes": noise(), "n_init": 3} | arguments))


def test_a_method_that_does_not_depend_on_the_key_is_fitted_once_for_all_seeds():
    methods = {"constant": gpssm.Constant(), "remembering": Remembering([])}
    found = gpssm.select(methods, noise(), n_init=3, seeds=3, num_samples=10)
    tried = [(trial.candidate, trial.seed) for trial in found.trials]
    assert [tried.count(("constant", seed)) for seed in range(3)] == [4, 0, 0]
    assert [tried.count(("remembering", seed)) for seed in range(3)] == [4, 4, 4]
    assert len(methods["remembering"].seen) == 12


COLUMNS = {"candidate", "fold", "seed", "failed", "seconds"} | {
    "log_density", "error", "value", "fit_percent", "coverage95"
}  # fmt: skip


def test_records_hold_every_trial_in_plain_numbers():
    found = gpssm.select({"failing": Failing(), "constant": gpssm.Constant()}, noise(), n_init=3, seeds=1)
    for row, trial in zip(found.records(), found.trials, strict=True):
        assert set(row) == COLUMNS
        assert all(value is None or type(value) in (str, int, float) for value in row.values())
        assert (row["candidate"], row["fold"], row["failed"]) == (trial.candidate, trial.fold, trial.failed)
        assert row["seconds"] >= 0.0
    assert found.records()[0]["failed"] == "FitError: no luck"
    assert np.isnan(found.records()[0]["fit_percent"])
    assert 0.5 < found.records()[-1]["coverage95"] <= 1.0


class Interrupting(AbstractMethod):
    """The user presses Ctrl-C during the fit to the third fold."""

    calls: list

    @property
    def deterministic(self) -> bool:
        return True

    def fit(self, data: Prepared, run: Run, *, key) -> Fit:
        self.calls.append(len(self.calls))
        made = gpssm.Constant().fit(data, run, key=key)
        return made.ended(gpssm.Result.interrupted) if len(self.calls) == 3 else made


def test_an_interrupted_selection_keeps_what_was_tried_and_trusts_only_what_was_tried_on_everything():
    methods = {"constant": gpssm.Constant(), "interrupting": Interrupting([]), "never": Remembering([])}
    found = gpssm.select(methods, noise(), n_init=3, seeds=1, num_samples=10)
    assert found.interrupted
    assert [trial.candidate for trial in found.trials] == ["constant"] * 4 + ["interrupting"] * 2
    assert not methods["never"].seen
    assert (found.winner, found.best) == ("constant", "constant")
    assert [row.failed != () for row in found.rows()] == [False, True, True]
    assert "interrupted" in found.table()


def test_a_selection_without_a_winner_says_why():
    found = gpssm.select({"failing": Failing()}, noise(), n_init=3, seeds=1)
    assert found.winner is None and found.best is None
    with pytest.raises(ValueError, match="all candidates failed: FitError: no luck"):
        found.method  # noqa: B018


def test_a_method_that_needs_more_context_than_there_is_has_failed():
    found = gpssm.select({"long": gpssm.ARX(5), "constant": gpssm.Constant()}, noise(), n_init=3, seeds=1)
    assert found.winner == "constant"
    assert "needs 5 samples to start, and n_init is 3" in found.trials[0].failed


def test_mistakes_are_forgiven_only_if_asked_for():
    methods = {"mistaken": Failing(TypeError("no such thing")), "constant": gpssm.Constant()}
    with pytest.raises(TypeError, match="no such thing"):
        gpssm.select(methods, noise(), n_init=3, seeds=1)
    found = gpssm.select(methods, noise(), n_init=3, seeds=1, forgive_mistakes=True)
    assert found.winner == "constant" and found.trials[0].failed == "TypeError: no such thing"


def test_records_of_ones_own_are_one_fold():
    train, test = noise(80), noise(40)
    found = gpssm.select({"constant": gpssm.Constant()}, train, folds=Against(test), n_init=3, seeds=3)
    assert [(trial.fold, trial.seed) for trial in found.trials] == [("test", 0)]
    truth, mean, std = test[0].y[3:], train[0].y.mean(), train[0].y.std()
    assert found.trials[0].error == pytest.approx(np.sqrt(np.mean((truth - mean) ** 2)) / std)
    with pytest.raises(gpssm.DataError, match="nothing is left to score"):
        gpssm.select({"constant": gpssm.Constant()}, train, folds=Against(test), n_init=40)


def test_the_context_is_a_fifth_of_the_shortest_record_that_is_held_out():
    found = gpssm.select({"constant": gpssm.Constant()}, noise(80), num_samples=10)
    held = found.trials[0].held_out
    assert held is not None and len(held.missed) == 20 - 4


@pytest.mark.slow
def test_a_gpssm_with_a_linear_mean_predicts():
    spec = gpssm.ModelSpec(1, num_inducing=6, mean=SubspaceMean())
    method = gpssm.Variational(spec, q_x=gpssm.Network(4), optimiser=Adam(60)).then(
        gpssm.Variational(q_x=gpssm.PerStep(), optimiser=LBFGS(10))
    )
    selection = gpssm.select(
        {"gpssm": method}, driven(np.sin, 80), n_init=4, folds=Blocks(count=2), seeds=1, num_samples=40, key=jr.key(0)
    )
    assert not selection.rows()[0].failed
    assert selection.rows()[0].error < 0.6


def test_each_trial_is_announced_while_it_is_made():
    heard: list[str] = []

    class Listening(gpssm.Constant):
        """Tells what is being done while it is fitted."""

        def fit(self, data: Prepared, run: Run, *, key) -> Fit:
            activity = current()
            heard.append("" if activity is None else activity.what)
            return super().fit(data, run, key=key)

    gpssm.select({"one": Listening(), "two": Listening()}, noise(), folds=Blocks(2), seed=0)
    assert heard == [f"trial {i + 1} of 4: {name}" for i, name in enumerate(("one", "one", "two", "two"))]
