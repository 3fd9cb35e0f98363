"""Binomial quantiles against the sum of probabilities."""

from math import comb

import pytest

from gpssm.metrics._binomial import binomial_quantile


@pytest.mark.parametrize("count", [1, 2, 7, 40])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_it_is_the_smallest_number_with_enough_probability_up_to_it(count, share):
    # None of these levels is reached exactly, where rounding would decide.
    for level in (0.001, 0.025, 0.3, 0.45, 0.8, 0.975, 0.999):
        total, wanted = 0.0, -1
        while total < level:
            wanted += 1
            total += comb(count, wanted) * share**wanted * (1.0 - share) ** (count - wanted)
        assert binomial_quantile(level, count, share) == wanted


@pytest.mark.parametrize("count", [5, 10, 20, 40])
def test_rounding_does_not_carry_it_over_a_whole_number(count):
    """Of even odds the probabilities are exact; levels lie below them by a few roundings."""
    for wanted in range(count):
        total = sum(comb(count, successes) for successes in range(wanted + 1)) / 2**count
        assert binomial_quantile(total * (1.0 - 1e-14), count, 0.5) == wanted
