"""Continuous ranked probability score, in the units of y (smaller is better; the absolute error of a sure forecast)."""

import numpy as np
from numpy.typing import ArrayLike

from gpssm.metrics._scored import Values, matched_samples


def crps_samples(y: Values, samples: Values, *, where: ArrayLike | None = None) -> float:
    """Mean score of the distribution behind the samples, E|X - y| - E|X - X'| / 2, estimated without bias.

    The pairs X, X' are different samples (the "fair" score), so the value does not depend on how many there are, and
    can come out slightly negative. Sorting makes the sum over pairs cost S log S.
    """
    measured, mask, draws = matched_samples(y, samples, where, minimum=2)
    # Deviations from the truth instead of raw values: a large common offset would cost digits in the pair sum.
    errors = np.sort(draws[:, mask] - measured[mask], axis=0)
    count = len(errors)
    weights = 2.0 * np.arange(count) - (count - 1)
    half_spread = weights @ errors / (count * (count - 1))
    return float(np.mean(np.mean(np.abs(errors), axis=0) - half_spread))
