"""Whether outputs look like magnitudes: those of a sensor that shows how fast, and not which way."""

import numpy as np

from gpssm.data import Episodes

NEAR = 0.1
"""What counts as near zero, in standard deviations of the output."""
SHARE = 0.01
"""How much of a record must be there: what has a sign passes through zero, and its magnitude comes back from it."""


def look_like_magnitudes(episodes: Episodes) -> bool:
    """Whether no output is ever negative and each comes down to zero now and then.

    Levels, concentrations and counts may do so as well: it is a reason to try, and not to believe. The sign is guessed
    from inputs, so that there must be some.
    """
    if not episodes.num_inputs:
        return False
    for i in range(episodes.num_outputs):
        values = np.concatenate([episode.y[episode.observed[:, i], i] for episode in episodes])
        if not len(values) or values.min() < 0.0 or np.mean(values < NEAR * values.std()) < SHARE:
            return False
    return True
