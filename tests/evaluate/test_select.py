"""The rule by which a candidate wins, and that it prefers what it should."""

from dataclasses import dataclass

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.evaluate import (
    AutoregressiveGPCandidate,
    AutoregressiveLinearCandidate,
    Blocks,
    ConstantCandidate,
    GPSSMCandidate,
    LinearKalmanCandidate,
    Score,
    Selection,
    grid,
    identified_linear_mean,
)


def scored(**values: list[float]) -> Selection:
    """A selection in which the value of each candidate on each fold is as given."""
    scores = [
        Score(name, f"fold {i}", 0, log_density=value, error=float(np.exp(-value)))
        for name, each in values.items()
        for i, value in enumerate(each)
    ]
    return Selection(tuple(values), tuple(scores))


def test_value_is_in_nats_for_density_and_error_alike():
    assert Score("a", "f", 0, log_density=-1.0, error=np.exp(2.0)).value == pytest.approx(-1.5)
    assert Score("a", "f", 0, log_density=1.0, error=1.0, lost="why").value == -np.inf


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
        Score("a", f, s, v, float(np.exp(-v)))
        for f, s, v in (("x", 0, 1.0), ("x", 1, 3.0), ("y", 0, 4.0), ("y", 1, 4.0))
    ]
    row = Selection(("a",), tuple(scores)).rows()[0]
    assert row.value == pytest.approx(3.0)
    assert row.value_se == pytest.approx(np.std([2.0, 4.0], ddof=1) / np.sqrt(2.0))


@dataclass(frozen=True)
class Failing:
    """Does not fit."""

    def __call__(self, episodes, *, key):
        raise gpssm.FitError("no luck\nat all")


@dataclass(frozen=True)
class Exploding:
    """Fits, and predicts NaN."""

    def __call__(self, episodes, *, key):
        constant = ConstantCandidate()(episodes, key=key)
        return type(constant)(constant.mean * np.nan, constant.std, constant.channels)


@dataclass(frozen=True)
class Recorder:
    """A constant that remembers what it was fitted to."""

    seen: list

    def __call__(self, episodes, *, key):
        self.seen.append(episodes)
        return ConstantCandidate()(episodes, key=key)


def noise(steps: int = 80) -> gpssm.Episodes:
    return gpssm.Episodes.from_arrays(y=np.random.default_rng(0).standard_normal(steps))


def test_failures_are_lost_with_a_reason_and_cannot_win():
    candidates = {"failing": Failing(), "exploding": Exploding(), "constant": ConstantCandidate()}
    selection = gpssm.select(candidates, noise(), n_init=3, seeds=1, key=jr.key(0))
    assert selection.winner == "constant"
    failing, exploding, _ = selection.rows()
    assert set(failing.lost) == {"FitError: no luck"} and len(failing.lost) == 4
    assert set(exploding.lost) == {"the free run diverged"}
    assert "lost: FitError: no luck (and 3 more)" in selection.table()
    assert ">*constant" in selection.table()


def test_all_lost_has_no_winner():
    assert gpssm.select({"failing": Failing()}, noise(), n_init=3, seeds=1, key=jr.key(0)).winner is None


def test_held_out_outputs_are_neither_fitted_nor_read_beyond_the_start():
    episodes, recorder = noise(), Recorder([])
    gpssm.select({"recorder": recorder}, episodes, n_init=3, folds=Blocks(count=4), seeds=2, key=jr.key(0))
    assert len(recorder.seen) == 8
    for i, fitted in enumerate(recorder.seen):
        held = set(episodes[0].y[20 * (i % 4) : 20 * (i % 4 + 1), 0])
        assert not held & {value for piece in fitted for value in piece.y[:, 0]}


def test_constant_has_the_scores_of_its_definition():
    episodes = noise()
    selection = gpssm.select({"constant": ConstantCandidate()}, episodes, n_init=3, key=jr.key(0))
    y, expected = episodes[0].y[:, 0], []
    for k in range(4):
        inside = np.arange(80) // 20 == k
        scored_part = y[inside][3:]
        error = np.sqrt(np.mean((scored_part - y[~inside].mean()) ** 2)) / y.std()
        z = (scored_part - y[~inside].mean()) / y[~inside].std()
        std = y[~inside].std() / y.std()
        expected.append((np.mean(-0.5 * z**2 - np.log(std) - 0.5 * np.log(2.0 * np.pi)), error))
    found = [(score.log_density, score.error) for score in selection.scores]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def driven(function, steps: int = 160) -> gpssm.Episodes:
    """x[t+1] = 0.6 x[t] + function(u[t]), measured with noise."""
    rng = np.random.default_rng(1)
    u, x, y = rng.uniform(-1.5, 1.5, (steps, 1)), 0.0, np.zeros((steps, 1))
    for t in range(steps):
        y[t] = x
        x = 0.6 * x + function(u[t, 0]) + 0.1 * rng.standard_normal()
    return gpssm.Episodes.from_arrays(y=y, u=u)


@pytest.mark.parametrize("function, kind", [(lambda u: 0.7 * u, "linear"), (lambda u: np.sin(2.5 * u), "gp")])
def test_prefers_the_kind_of_model_that_made_the_data(function, kind):
    candidates = {
        "constant": ConstantCandidate(),
        "linear": AutoregressiveLinearCandidate(output_lags=1),
        "gp": AutoregressiveGPCandidate(output_lags=1, iterations=20),
    }
    selection = gpssm.select(candidates, driven(function), n_init=4, num_samples=200, key=jr.key(0))
    assert selection.winner == kind, selection.table()


def test_same_key_gives_the_same_scores():
    candidates = {"linear": AutoregressiveLinearCandidate(output_lags=1)}
    runs = [gpssm.select(candidates, driven(np.sin), n_init=4, num_samples=40, key=jr.key(3)).scores for _ in range(2)]
    assert runs[0] == runs[1]
    other = gpssm.select(candidates, driven(np.sin), n_init=4, num_samples=40, key=jr.key(4)).scores
    assert runs[0] != other


def test_grid_names_every_combination():
    made = grid("linear", LinearKalmanCandidate, order=(1, 2), max_radius=(0.9, 1.0))
    assert list(made) == [
        "linear order=1, max_radius=0.9",
        "linear order=1, max_radius=1.0",
        "linear order=2, max_radius=0.9",
        "linear order=2, max_radius=1.0",
    ]
    assert made["linear order=2, max_radius=0.9"] == LinearKalmanCandidate(order=2, max_radius=0.9)
    assert "mean=identified_linear_mean" in next(
        iter(grid("g", GPSSMCandidate, states=(1,), mean=(identified_linear_mean,)))
    )


def test_linear_mean_is_the_regression_on_the_outputs():
    episodes = driven(lambda u: 0.7 * u)
    mean = identified_linear_mean(episodes, 1)
    scaled = gpssm.Scaler.from_episodes(episodes).apply(episodes)[0]
    rows = np.concatenate([scaled.y[:-1], scaled.u[:-1], np.ones((len(scaled) - 1, 1))], axis=1)
    expected = np.linalg.lstsq(rows, scaled.y[1:], rcond=None)[0][:, 0]
    found = [mean.state_matrix.item(), mean.control_matrix.item(), mean.offset.item()]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_gpssm_candidate_with_a_linear_mean_predicts():
    candidate = GPSSMCandidate(states=1, num_inducing=6, hidden=4, steps=60, iterations=10, mean=identified_linear_mean)
    selection = gpssm.select(
        {"gpssm": candidate},
        driven(np.sin, 80),
        n_init=4,
        folds=Blocks(count=2),
        seeds=1,
        num_samples=40,
        key=jr.key(0),
    )
    assert not selection.rows()[0].lost
    assert selection.rows()[0].error < 0.6
