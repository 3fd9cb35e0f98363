"""The third cumulant of the portmanteau sum, against exact moments of quadratic forms."""

import itertools
from functools import cache

import numpy as np
import pytest

from gpssm.metrics._portmanteau import white_noise_law
from tests.reference.quadratic_forms import quadratic_forms


def third_cumulant(scored: np.ndarray, num_lags: int) -> float:
    """Of the sum of squared autocorrelations over their variances, for white noise of known mean, without any
    approximation: moments of products of quadratic forms are sums over set partitions of products of cumulants, and
    joint cumulants are sums of traces over cyclic orders."""
    forms, count = quadratic_forms(scored, num_lags), int(scored.sum())
    triples = {
        key: forms[key[0]] @ forms[key[1]] @ forms[key[2]] for key in itertools.product(range(num_lags), repeat=3)
    }

    @cache
    def trace(order: tuple[int, ...]) -> float:
        chain = [forms[i] for i in order]
        if len(order) == 6:
            return float(np.sum(triples[order[:3]] * triples[order[3:]].T))
        return float(np.sum((np.linalg.multi_dot(chain[:-1]) if len(chain) > 2 else chain[0]) * chain[-1].T))

    @cache
    def cumulant(which: tuple[int, ...]) -> float:
        if len(which) == 1:
            return 0.0  # a form without diagonal has mean zero
        orders = itertools.permutations(which[1:])
        return 2.0 ** (len(which) - 1) * sum(trace((which[0], *order)) for order in orders)

    @cache
    def moment(which: tuple[int, ...]) -> float:
        if not which:
            return 1.0
        first, rest = which[0], which[1:]
        total = 0.0
        for size in range(len(rest) + 1):
            for chosen in itertools.combinations(range(len(rest)), size):
                block = tuple(sorted((first, *(rest[i] for i in chosen))))
                left = tuple(rest[i] for i in range(len(rest)) if i not in chosen)
                total += cumulant(block) * moment(left)
        return total

    def of_squares(power: int) -> float:
        """E of the sum to this power. Autocorrelations do not depend on C_0, so its moments can be divided out."""
        total = 0.0
        for lags in itertools.product(range(num_lags), repeat=power):
            scale = np.prod([moment((i, i)) / (count * (count + 2.0)) for i in lags])
            total += moment(tuple(sorted((*lags, *lags)))) / scale
        return total / np.prod([count + 2.0 * i for i in range(2 * power)])

    first, second, third = map(of_squares, (1, 2, 3))
    return third - 3.0 * first * second + 2.0 * first**3


@pytest.mark.system
@pytest.mark.parametrize("gaps", [False, True])
def test_third_cumulant_of_the_portmanteau_sum_is_right_to_first_order(gaps):
    """What is left out falls by four when there are twice as many steps, as a term of second order does; any wrong
    coefficient of first order would make it fall by two."""
    num_lags, off = 4, []
    for steps in (60, 120):
        scored = np.ones(steps, dtype=bool)
        if gaps:
            scored[3::10] = False
        law = white_noise_law(scored, num_lags)
        off.append(law.total_skewness * law.total_variance**1.5 - third_cumulant(scored, num_lags))
    assert 3.3 < off[0] / off[1] < 4.5
