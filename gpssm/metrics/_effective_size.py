"""How many independent values a correlated series is worth."""

import numpy as np
from numpy.typing import ArrayLike

from gpssm.metrics._scored import Values, require_finite, scored_mask, to_array


def effective_sample_size(values: Values, *, mean: float | None = None, where: ArrayLike | None = None) -> float:
    """The number of independent values whose average is as uncertain as the average of these, shape (T,) or (T, O).

    Autocovariances, summed over channels so that correlation between channels counts too, are added up to where they
    fade into noise. The result lies between one and the number of scored values; values that do not vary at all are
    worth one. Missing entries are allowed. `mean` is the expectation, where it is known better than from this series
    alone, as from several records together.
    """
    array = to_array(values)
    mask = scored_mask(where, array.shape)
    require_finite("values", array, mask)
    if array.ndim not in (1, 2):
        raise ValueError(f"expected one series of shape (T,) or (T, O), got {array.shape}")
    centred = array[mask] - (array[mask].mean() if mean is None else mean)
    count, independent = float(len(centred)), float(centred @ centred)
    if independent == 0.0 or count < 2.0:
        return 1.0
    filled = np.zeros(mask.shape)
    filled[mask] = centred
    rows = filled.reshape(len(filled), -1).sum(axis=1)
    steps = len(rows)
    spectrum = np.abs(np.fft.rfft(rows, 2 * steps)) ** 2
    products = np.fft.irfft(spectrum, 2 * steps)[: steps - steps % 2]
    # Sums of neighbouring autocovariances are positive and fall for reversible chains; the first one that is not
    # positive marks the noise floor, beyond which adding more lags only adds variance (Geyer's initial sequence).
    pairs = products.reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    kept = pairs[: negative[0]] if len(negative) else pairs
    variance_of_sum = 2.0 * float(np.sum(kept)) - float(products[0]) if len(kept) else 0.0
    return count if variance_of_sum <= independent else max(1.0, count * independent / variance_of_sum)
