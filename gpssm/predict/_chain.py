"""Linear recurrences over a whole record without a loop over its steps."""

import numpy as np
from jaxtyping import Float


def chain(A: Float[np.ndarray, "D D"], driven: Float[np.ndarray, "T D *K"]) -> Float[np.ndarray, "T D *K"]:
    """x[0] = driven[0], x[t] = A x[t-1] + driven[t], by adding up stretches of 1, 2, 4, ... steps.

    A loop over the steps would spend its time in Python. Needs an A that does not grow: its powers are formed.
    """
    x = np.array(driven, dtype=float).reshape(len(driven), len(A), -1)
    reach, power = 1, np.asarray(A, dtype=float)
    # A power that is not finite is no reason to stop: whoever asks has to see it.
    while reach < len(x) and not np.abs(power).max() <= 1e-30:
        x[reach:] += power @ x[:-reach]
        reach, power = 2 * reach, power @ power
    return x.reshape(driven.shape)
