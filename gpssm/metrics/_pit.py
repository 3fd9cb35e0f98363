"""Probability integral transform: where in its predicted distribution each measurement fell.

Values are uniform on (0, 1) when the prediction is right. The result keeps the shape of y, so that time structure is
not lost; entries that are not scored are NaN.
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from gpssm.metrics._scored import Values, matched_samples


def pit_samples(
    y: Values, samples: Values, *, rng: np.random.Generator, where: ArrayLike | None = None
) -> Float[np.ndarray, "..."]:
    """Randomised rank of y among the samples (of the measurement, noise included).

    With b samples below y and e equal to it, the value is uniform on [b, b + e + 1] / (S + 1). If y is one more draw
    from the same distribution, the result is exactly uniform for every S, ties or not. NaN samples give NaN.
    """
    measured, mask, draws = matched_samples(y, samples, where)
    truth, scored = measured[mask], draws[:, mask]
    below = np.sum(scored < truth, axis=0)
    equal = np.sum(scored == truth, axis=0)
    ranks = (below + rng.random(truth.shape) * (equal + 1)) / (len(draws) + 1)
    pit = np.full(measured.shape, np.nan)
    pit[mask] = np.where(np.isnan(scored).any(axis=0), np.nan, ranks)
    return pit
