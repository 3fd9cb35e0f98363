"""Linear autoregressions that do not explode: recurrences pulled back to the edge of stability."""

import numpy as np
from jaxtyping import Float


def stabilise(recurrence: Float[np.ndarray, "*B K O O"], max_radius: float) -> Float[np.ndarray, "*B K O O"]:
    """y[t+1] = sum of recurrence[k] y[t - k], with a spectral radius of `max_radius` at most.

    Scaling the k-th matrix by s to the power of k + 1 scales every eigenvalue by s, and leaves alone how they lie to
    one another.
    """
    lags = recurrence.shape[-3]
    radius = spectral_radius(companion(recurrence))
    scale = (max_radius / np.maximum(radius, max_radius))[..., None]
    return recurrence * (scale ** np.arange(1, lags + 1))[..., None, None]


def companion(recurrence: Float[np.ndarray, "*B K O O"]) -> Float[np.ndarray, "*B R R"]:
    """The matrix that moves the last K outputs, newest first, by a step."""
    *batch, lags, size, _ = recurrence.shape
    first = np.moveaxis(recurrence, -3, -2).reshape(*batch, size, lags * size)
    shift = np.eye((lags - 1) * size, lags * size)
    return np.concatenate([first, np.broadcast_to(shift, (*batch, *shift.shape))], axis=-2)


def spectral_radius(matrix: Float[np.ndarray, "*B R R"]) -> Float[np.ndarray, "*B"]:
    """Largest absolute eigenvalue."""
    return np.asarray(np.abs(np.linalg.eigvals(matrix)).max(axis=-1))
