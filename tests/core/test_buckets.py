"""Round sizes: few of them, none too far away, and nothing left over."""

import numpy as np
import pytest

from gpssm._core._buckets import fill_up, next_power_of_two, round_count, round_size, side_by_side

SIZES = range(1, 5000)


def test_a_round_size_holds_what_it_is_for_and_less_than_a_quarter_more():
    for size in SIZES:
        assert size <= round_size(size) < 1.25 * size
        assert round_size(round_size(size)) == round_size(size), "a round size is its own"
    assert len({round_size(size) for size in range(16, 513)}) == 21
    assert [next_power_of_two(size) for size in (1, 2, 3, 4, 5, 1000)] == [1, 2, 4, 4, 8, 1024]


def test_a_thousand_lengths_of_records_have_ten_round_sizes():
    for size in SIZES:
        found = round_size(size, least=16)
        assert size <= found < (2.0 if size <= 64 else 1.5) * max(size, 16)
        assert round_size(found, least=16) == found
    assert [round_size(size, least=16) for size in (3, 17, 33, 65, 97, 1000)] == [16, 32, 64, 96, 128, 1024]
    assert len({round_size(size, least=16) for size in range(20, 1020)}) == 10


def test_a_round_number_of_trajectories_is_near_and_divides_evenly():
    for draws in SIZES:
        count = round_count(draws)
        assert draws <= count < max(1.5 * draws, draws + 24)
        assert round_count(count) == count
        assert count % 8 == 0 or draws == 1
        for most in (8, 256):
            batch = side_by_side(count, most)
            assert count % batch == 0
            assert min(count, 0.5 * most) <= batch <= most or count == 1


def test_a_thousand_numbers_of_trajectories_have_few_round_ones():
    """Each is a program of 20 MiB and more; those that people ask for cost next to nothing more."""
    assert len({round_count(draws) for draws in range(1, 1001)}) == 15
    assert all(round_count(draws) <= draws + 8 for draws in (10, 20, 50, 100, 150, 200, 300, 400, 500, 750, 1000))


def test_the_number_side_by_side_is_the_largest_that_divides():
    assert [side_by_side(count, 8) for count in (1, 5, 8, 12, 100, 11)] == [1, 5, 8, 6, 5, 1]


@pytest.mark.parametrize("dtype", [bool, np.float32, np.float64])
def test_rows_that_fill_up_are_zero_and_the_others_as_they_were(dtype):
    rows = np.ones((3, 2), dtype)
    filled = fill_up(rows, 5)
    assert filled.dtype == dtype
    np.testing.assert_array_equal(filled, np.array([[1, 1]] * 3 + [[0, 0]] * 2, dtype))
