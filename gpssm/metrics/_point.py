"""Errors of a point prediction.

`rmse` and `mae` pool all scored entries. The relative measures compare each channel with its own spread and then
average over channels, so that channels in different units weigh the same; channels with no scored entry are left out.
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from gpssm.metrics._scored import Values, as_columns, matched


def rmse(y: Values, mean: Values, *, where: ArrayLike | None = None) -> float:
    """Root mean squared error over all scored entries of all channels together."""
    measured, mask, (predicted,) = matched(y, where, mean=mean)
    return float(np.sqrt(np.mean((measured[mask] - predicted[mask]) ** 2)))


def mae(y: Values, mean: Values, *, where: ArrayLike | None = None) -> float:
    """Mean absolute error over all scored entries of all channels together."""
    measured, mask, (predicted,) = matched(y, where, mean=mean)
    return float(np.mean(np.abs(measured[mask] - predicted[mask])))


def nrmse_std(y: Values, mean: Values, *, where: ArrayLike | None = None) -> float:
    """RMSE of each channel divided by the standard deviation of its scored outputs, averaged over channels.

    The deviation has divisor N, so predicting the average of the scored outputs gives exactly one.
    """
    return float(np.mean(np.sqrt(_unexplained_fractions(y, mean, where))))


def fit_percent(y: Values, mean: Values, *, where: ArrayLike | None = None) -> float:
    """100 (1 - |y - mean| / |y - average of y|) with Euclidean norms per channel, averaged over channels.

    100 is perfect, 0 is as good as the average of the scored outputs, and there is no lower end.
    """
    return float(np.mean(100.0 * (1.0 - np.sqrt(_unexplained_fractions(y, mean, where)))))


def r2(y: Values, mean: Values, *, where: ArrayLike | None = None) -> float:
    """Coefficient of determination, 1 - |y - mean|^2 / |y - average of y|^2 per channel, averaged over channels."""
    return float(np.mean(1.0 - _unexplained_fractions(y, mean, where)))


def _unexplained_fractions(y: Values, mean: Values, where: ArrayLike | None) -> Float[np.ndarray, " channels"]:
    """|y - mean|^2 / |y - average of y|^2 of every channel that has scored entries."""
    measured, mask, (predicted,) = matched(y, where, mean=mean)
    measured, predicted, mask = as_columns(measured), as_columns(predicted), as_columns(mask)
    fractions = []
    for channel in np.flatnonzero(mask.any(axis=0)):
        rows = mask[:, channel]
        truth = measured[rows, channel]
        # The range, not the variance, says "constant": rounding can leave a tiny variance around the average.
        if np.ptp(truth) == 0.0:
            raise ValueError(
                f"channel {channel} is constant over its {len(truth)} scored entries: no spread to divide by"
            )
        fractions.append(np.sum((truth - predicted[rows, channel]) ** 2) / np.sum((truth - truth.mean()) ** 2))
    return np.asarray(fractions)
