"""What is held out and what is left to fit."""

import numpy as np
import pytest

import gpssm
from gpssm.evaluate import Against, Blocks, EpisodeFolds, LongRuns, Stretches
from gpssm.evaluate._folds import default_folds


def counted(steps: int, start: int = 0) -> np.ndarray:
    return np.arange(start, start + steps, dtype=float)


def test_blocks_of_one_record_are_disjoint_and_cover_it():
    episodes = gpssm.Episodes.from_arrays(y=counted(100))
    folds = Blocks(count=4).split(episodes, n_init=5)
    held = np.concatenate([fold.test[0].y[:, 0] for fold in folds])
    np.testing.assert_array_equal(held, counted(100))


def test_pieces_around_a_block_are_not_joined_and_never_overlap_it():
    episodes = gpssm.Episodes.from_arrays(y=counted(100))
    for fold in Blocks(count=4).split(episodes, n_init=5):
        held = set(fold.test[0].y[:, 0])
        for piece in fold.train:
            np.testing.assert_array_equal(np.diff(piece.y[:, 0]), 1.0)
            assert not held & set(piece.y[:, 0])
        assert fold.train.num_steps == 75


def test_short_pieces_are_dropped():
    episodes = gpssm.Episodes.from_arrays(y=counted(40))
    folds = Blocks(count=4, shortest=10).split(episodes, n_init=2)
    assert [len(piece) for piece in folds[1].train] == [20]


def test_several_records_share_the_blocks_and_whole_records_stay_in_training():
    episodes = gpssm.Episodes.from_arrays(y=[counted(60), counted(60, 1000)])
    folds = Blocks(count=4).split(episodes, n_init=5)
    assert len(folds) == 4
    assert sorted(len(piece) for piece in folds[0].train) == [30, 60]


def test_each_episode_is_held_out_once():
    episodes = gpssm.Episodes.from_arrays(y=[counted(12, 100 * i) for i in range(6)])
    folds = EpisodeFolds(count=4).split(episodes, n_init=5)
    held = [record.y[0, 0] for fold in folds for record in fold.test]
    assert sorted(held) == [0.0, 100.0, 200.0, 300.0, 400.0, 500.0]
    for fold in folds:
        assert len(fold.train) + len(fold.test) == 6


def test_records_of_ones_own_leave_all_of_the_others_to_fit():
    train, test = gpssm.Episodes.from_arrays(y=[counted(9), counted(9)]), gpssm.Episodes.from_arrays(y=counted(8))
    (fold,) = Against(test).split(train, n_init=7)
    assert fold.train is train and fold.test == tuple(test)
    with pytest.raises(gpssm.DataError, match="no more than n_init=8 samples"):
        Against(test).split(train, n_init=8)


def test_default_follows_the_number_of_records():
    assert isinstance(default_folds(gpssm.Episodes.from_arrays(y=[counted(9)] * 4)), EpisodeFolds)
    assert isinstance(default_folds(gpssm.Episodes.from_arrays(y=[counted(9)] * 3)), Blocks)


def test_blocks_with_nothing_to_score_are_refused():
    with pytest.raises(gpssm.DataError, match="nothing to score"):
        Blocks(count=4).split(gpssm.Episodes.from_arrays(y=counted(40)), n_init=10)


def test_long_runs_hide_what_lies_before_the_block_and_score_the_block_only():
    y = np.arange(40.0)
    episodes = gpssm.Episodes([gpssm.Episode(y=y, u=2.0 * y, name="rig")])
    folds, blocks = LongRuns(4).split(episodes, n_init=3), Blocks(4).split(episodes, n_init=3)
    for i, (fold, block) in enumerate(zip(folds, blocks, strict=True)):
        (run,) = fold.test
        assert len(run) == 10 * (i + 1)
        assert [len(part) for part in fold.train] == [len(part) for part in block.train]
        scored = np.flatnonzero(run.observed[3:, 0]) + 3
        np.testing.assert_array_equal(scored, np.arange(max(10 * i, 3), 10 * (i + 1)))
        np.testing.assert_array_equal(run.u[:, 0], 2.0 * y[: len(run)])
        np.testing.assert_array_equal(run.y[:3, 0], y[:3])


@pytest.mark.parametrize("folds", [Blocks(4), LongRuns(4), Stretches(4)])
def test_folds_of_records_that_share_a_name_can_be_told_apart(folds):
    episodes = gpssm.Episodes([gpssm.Episode(y=counted(100, start)) for start in (0, 1000)])
    found = folds.split(episodes, n_init=5)
    assert len({fold.name for fold in found}) == len(found) == 4


@pytest.mark.parametrize("folds", [Blocks(4), LongRuns(4), Stretches(4)])
def test_parts_in_which_nothing_was_measured_are_not_judged(folds):
    y = counted(200)
    whole = folds.split(gpssm.Episodes.from_arrays(y=y), n_init=5)
    y[45:100] = np.nan
    found = folds.split(gpssm.Episodes.from_arrays(y=y), n_init=5)
    assert all(fold.test[0].observed[5:].any() for fold in found)
    assert [fold.name for fold in found] == [whole[i].name for i in (0, 2, 3)]


def test_stretches_without_any_measurement_are_refused():
    y = np.full(200, np.nan)
    y[:5] = 1.0
    with pytest.raises(gpssm.DataError, match="nothing was measured"):
        Stretches(4).split(gpssm.Episodes.from_arrays(y=y), n_init=5)


def test_episodes_in_which_nothing_was_measured_are_not_judged():
    records = [gpssm.Episode(y=counted(30, 100 * i), mask=np.arange(30) < (5 if i == 1 else 30)) for i in range(4)]
    found = EpisodeFolds(4).split(gpssm.Episodes(records), n_init=5)
    assert [fold.name for fold in found] == ["episodes 0::4", "episodes 2::4", "episodes 3::4"]
