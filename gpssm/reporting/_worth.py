"""How many independent values a correlated series is worth."""

import numpy as np
from jaxtyping import Float


def independent_worth(centred: Float[np.ndarray, " T"]) -> float:
    """The number of independent values whose average is as uncertain as the average of these.

    Autocovariances are summed up to where they fade into noise (the first pair of neighbours with a negative sum,
    Geyer's rule). Never below one nor above the length of the series.
    """
    steps = len(centred)
    power = float(centred @ centred)
    if steps < 2 or power == 0.0:
        return float(steps)
    spectrum = np.abs(np.fft.rfft(centred, 2 * steps)) ** 2
    products = np.fft.irfft(spectrum, 2 * steps)[: steps - steps % 2]
    pairs = products.reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    kept = pairs[: negative[0]] if len(negative) else pairs
    variance_of_sum = 2.0 * float(kept.sum()) - power if len(kept) else 0.0
    return float(np.clip(steps * power / variance_of_sum, 1.0, steps)) if variance_of_sum > power else float(steps)
