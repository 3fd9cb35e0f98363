"""Mixtures by held-out densities: against the definition, and on candidates of known worth."""

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm import metrics
from gpssm.evaluate import HeldOut, Selection, Shares, Trial, select
from gpssm.evaluate._stacking import FACTORS, stacking_weights
from gpssm.evaluate._trial import Task, attempt, numbers_of
from gpssm.predict import ConstantPredictor, MixturePredictor
from tests.evaluate.test_select import Exploding

ONCE = np.ones((1, 1))


def _run(missed: np.ndarray, spread: float) -> HeldOut:
    missed = missed.reshape(len(missed), -1)
    return HeldOut(missed, np.full(missed.shape, spread), np.ones(missed.shape, bool))


def _scores(name: str, folds: list[HeldOut], seed: int = 0) -> list[Trial]:
    return [Trial(name, f"fold {i}", seed, d.log_density, d.error, held_out=d) for i, d in enumerate(folds)]


def test_one_fold_is_given_the_weights_that_a_search_finds():
    rng = np.random.default_rng(0)
    densities = np.log(rng.uniform(0.1, 1.0, (2, 200)))
    grid = np.linspace(0.0, 1.0, 2001)
    values = [np.mean(np.log(w * np.exp(densities[0]) + (1.0 - w) * np.exp(densities[1]))) for w in grid]
    found, value = stacking_weights([densities], ONCE)
    assert found[0, 0] == pytest.approx(grid[int(np.argmax(values))], abs=2e-3)
    assert found.sum() == pytest.approx(1.0)
    assert value[0] == pytest.approx(max(values), abs=1e-5)


def test_two_thirds_of_the_samples_from_one_candidate_give_it_two_thirds():
    """Samples drawn from a mixture have its shares as their most likely weights."""
    rng = np.random.default_rng(1)
    y = np.where(rng.uniform(size=20_000) < 2 / 3, 0.0, 8.0) + rng.standard_normal(20_000)
    parts = [np.stack([-0.5 * block**2, -0.5 * (block - 8.0) ** 2]) for block in np.split(y, 4)]
    assert stacking_weights(parts, np.full((1, 4), 0.25))[0][0, 0] == pytest.approx(2 / 3, abs=0.02)


def test_folds_count_alike_whatever_their_length():
    long, short = np.tile([[0.0], [-50.0]], (1, 900)), np.tile([[-50.0], [0.0]], (1, 100))
    importance = np.array([[0.5, 0.5], [0.2, 0.8]])
    np.testing.assert_allclose(stacking_weights([long, short], importance)[0][:, 0], [0.5, 0.2], atol=1e-6)


def test_a_common_factor_of_all_densities_changes_nothing():
    rng = np.random.default_rng(2)
    parts = [rng.standard_normal((3, 40)), rng.standard_normal((3, 30))]
    moved = [part + 700.0 * rng.standard_normal((1, part.shape[1])) for part in parts]
    importance = np.array([[0.5, 0.5], [0.9, 0.1]])
    kept, same = (stacking_weights(p, importance)[0] for p in (parts, moved))
    np.testing.assert_allclose(kept, same, atol=1e-10)


def test_the_lost_have_no_share():
    rng = np.random.default_rng(3)
    scores = _scores("good", [_run(rng.standard_normal(50), 1.0), _run(rng.standard_normal(50), 1.0)])
    scores += [Trial("lost", f"fold {i}", 0, -np.inf, np.inf, "it diverged") for i in range(2)]
    found = Selection(dict.fromkeys(("good", "lost"), gpssm.Constant()), tuple(scores)).stacked(key=jr.key(0))
    assert found.shares == pytest.approx({"good": 1.0, "lost": 0.0})


@pytest.mark.system
def test_seeds_are_judged_one_by_one():
    """A mixture has one fit of each candidate: if the bands of every fit are right, so are those of the candidate,
    however much its fits disagree."""
    rng = np.random.default_rng(6)
    scores = [score for seed in range(2) for score in _scores("a", [_run(rng.standard_normal(900), 1.0)], seed)]
    found = Selection(dict.fromkeys(("a",), gpssm.Constant()), tuple(scores)).stacked(key=jr.key(0))
    assert found.width == pytest.approx(1.0, rel=0.05)


def test_a_candidate_with_one_seed_meets_all_seeds_of_the_others():
    """The second seed of "a" misses where the first did not; "b" is as good as the better of the two throughout."""
    near, far = np.zeros(50), np.full(50, 9.0)
    scores = _scores("a", [_run(near, 1.0)], seed=0) + _scores("a", [_run(far, 1.0)], seed=1)
    found = Selection(dict.fromkeys(("a", "b"), gpssm.Constant()), (*scores, *_scores("b", [_run(near, 1.0)]))).stacked(
        key=jr.key(0)
    )
    assert found.shares["b"] > 0.95


@pytest.mark.parametrize("claimed", [0.5, 1.0, 2.0])
def test_a_single_candidate_becomes_as_wide_as_its_misses_are(claimed: float):
    rng = np.random.default_rng(7)
    folds = [_run(rng.standard_normal((300, 2)), claimed) for _ in range(4)]
    found = Selection(dict.fromkeys(("a",), gpssm.Constant()), tuple(_scores("a", folds))).stacked(key=jr.key(0))
    assert found.width * claimed == pytest.approx(1.0, rel=FACTORS[1] / FACTORS[0] - 1.0)


@pytest.mark.system
def test_a_mixture_of_candidates_whose_bands_are_right_is_narrowed():
    """The truth is the sum of two halves, and each candidate knows one: both are calibrated, their mixture is not."""
    rng = np.random.default_rng(8)
    first, second = rng.standard_normal((2, 4, 300))
    scores = _scores("knows first", [_run(part, 1.0) for part in second])
    scores += _scores("knows second", [_run(part, 1.0) for part in first])
    found = Selection(dict.fromkeys(("knows first", "knows second"), gpssm.Constant()), tuple(scores)).stacked(
        key=jr.key(0)
    )
    assert found.width < 0.95
    assert found.shares["knows first"] == pytest.approx(0.5, abs=0.1)


def test_steps_that_no_candidate_allows_are_refused():
    with pytest.raises(ValueError, match="finite density"):
        stacking_weights([np.full((2, 3), -np.inf)], ONCE)
    with pytest.raises(ValueError, match="must have steps"):
        stacking_weights([np.zeros((2, 0))], ONCE)


def test_records_that_share_a_name_are_different_folds():
    rng = np.random.default_rng(5)
    episodes = gpssm.Episodes([gpssm.Episode(y=rng.standard_normal(60)) for _ in range(2)])
    found = select({"a": gpssm.Constant()}, episodes, n_init=4, folds=gpssm.evaluate.LongRuns(4), key=jr.key(0))
    assert len({score.fold for score in found.trials}) == 4


def test_without_any_candidate_left_there_is_no_mixture():
    lost = Selection(dict.fromkeys(("a",), gpssm.Constant()), (Trial("a", "f", 0, -np.inf, np.inf, "it diverged"),))
    with pytest.raises(ValueError, match="all candidates failed"):
        lost.stacked(key=jr.key(0))


def test_scores_of_a_selection_can_be_stacked():
    rng = np.random.default_rng(4)
    y = rng.standard_normal((120, 2)) * np.array([1.0, 3.0])
    y[5, 0] = np.nan
    episodes = gpssm.Episodes([gpssm.Episode(y=np.nan_to_num(y), mask=np.isfinite(y))])
    found = select({"a": gpssm.Constant(), "b": gpssm.Constant()}, episodes, n_init=4, key=jr.key(0))
    assert found.stacked(key=jr.key(1)).shares == pytest.approx({"a": 0.5, "b": 0.5})
    for score in found.trials:
        assert score.held_out is not None
        # Two outputs in every step but the one with a gap.
        assert score.held_out.known.sum() == 2 * 26 - ("[0:" in score.fold)


def test_scores_are_those_of_the_metrics():
    rng = np.random.default_rng(9)
    y = 3.0 + rng.standard_normal((40, 2)) * np.array([1.0, 3.0])
    mask = rng.uniform(size=y.shape) < 0.8
    train, test = gpssm.Episodes([gpssm.Episode(y=y)]), gpssm.Episode(y=y + 1.0, mask=mask)
    fold = gpssm.evaluate.Fold("f", train, (test,))
    scaler = gpssm.Scaler.from_episodes(train)
    task = Task("a", gpssm.Constant(), fold, 0, scaler, 4, 50, *numbers_of(jr.key(0)))
    found = attempt(task)
    assert found is not None
    constant = gpssm.fit(train, gpssm.Constant(), progress=gpssm.Silent()).system
    assert isinstance(constant, ConstantPredictor)
    scale = scaler.output_scale
    truth, mean = (test.y[4:] / scale, np.broadcast_to(constant.mean / scale, (36, 2)))
    std = np.broadcast_to(constant.std / scale, (36, 2))
    assert found.error == pytest.approx(metrics.rmse(truth, mean, where=mask[4:]))
    assert found.log_density == pytest.approx(metrics.log_density_gaussian(truth, mean, std, where=mask[4:]))


def test_a_run_beyond_all_numbers_has_failed_and_is_no_accident():
    episodes = gpssm.Episodes([gpssm.Episode(y=np.random.default_rng(10).standard_normal(80))])
    with np.errstate(all="raise"):
        found = select({"a": Exploding(1e200)}, episodes, n_init=4, seeds=1, key=jr.key(0))
    assert {trial.failed for trial in found.trials} == {"the free run diverged"}


def test_a_mixture_is_made_of_those_with_a_share_worth_a_fit():
    shares = Shares({"a": 0.7, "b": 0.01, "c": 0.29}, 0.8)
    assert shares.above(0.02) == {"a": 0.7, "c": 0.29}
    members = {"constant": gpssm.Constant(), "arx": gpssm.ARX(1)}
    episodes = gpssm.Episodes([gpssm.Episode(y=np.random.default_rng(10).standard_normal(80))])
    fit = gpssm.fit(episodes, gpssm.Stacked(members), progress=gpssm.Silent(), seed=0)
    assert isinstance(fit.system, MixturePredictor)
    found = select(members, episodes, seeds=1, key=jr.split(jr.key(0), 3)[0])
    expected = found.stacked(key=jr.split(jr.key(0), 3)[1])
    assert fit.system.weights == tuple(expected.above(0.02).values())
    assert fit.system.width == expected.width
