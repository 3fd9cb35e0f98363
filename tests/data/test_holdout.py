"""What is kept aside to judge by, and how much of it a free run may read first."""

import numpy as np
import pytest

from gpssm.data import DataError, Episode, Episodes
from gpssm.data._holdout import context_length, hold_out


def records(*lengths: int) -> Episodes:
    """Every value occurs once, so that a step can be recognised wherever it went."""
    starts = np.cumsum([0, *lengths])
    return Episodes([Episode(y=np.arange(a, a + n, dtype=float)) for a, n in zip(starts, lengths, strict=False)])


def steps(episodes: Episodes | None) -> list[float]:
    return [] if episodes is None else np.concatenate([episode.y[:, 0] for episode in episodes]).tolist()


@pytest.mark.parametrize(
    ("lengths", "holdout"), [((50, 100), None), ((20,) * 6, None), ((50, 100), 0.3), ((50, 30, 40), 1), ((50,), 0.0)]
)
def test_nothing_is_lost_and_nothing_is_in_both(lengths, holdout):
    train, kept = hold_out(records(*lengths), holdout)
    assert sorted(steps(train) + steps(kept)) == list(range(sum(lengths)))


def test_by_default_many_records_lose_the_last_fifth_of_them_and_few_their_ends():
    train, kept = hold_out(records(*[20] * 10), None)
    assert (len(train), len(kept)) == (8, 2)
    train, kept = hold_out(records(50, 100), None)
    assert [len(part) for part in train] == [40, 80]
    assert [len(part) for part in kept] == [10, 20]


def test_records_too_short_to_cut_are_left_whole():
    train, kept = hold_out(records(20, 100), None)
    assert [len(part) for part in train] == [20, 80]
    assert [len(part) for part in kept] == [20]
    train, kept = hold_out(records(20), None)
    assert kept is None and len(train[0]) == 20
    with pytest.raises(DataError, match=r"0\.2.*long enough"):
        hold_out(records(20), 0.2)


def test_an_end_in_which_nothing_was_measured_judges_nothing():
    y = np.arange(100.0)
    y[84:] = np.nan
    train, kept = hold_out(Episodes([Episode(y=y)]), None)
    assert kept is None and len(train[0]) == 100


@pytest.mark.parametrize("holdout", [-0.1, 1.5, float("nan"), 2.0, 7])
def test_shares_and_counts_that_make_no_sense_are_refused(holdout):
    with pytest.raises(DataError, match=r"holdout"):
        hold_out(records(50, 50), holdout)


@pytest.mark.parametrize(("lengths", "expected"), [([100, 30], 6), ([1000], 20), ([4], 1), ([1], 1)])
def test_a_fifth_of_the_shortest_record_tells_where_a_run_starts(lengths, expected):
    assert context_length(lengths) == expected
