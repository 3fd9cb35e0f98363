"""Test of residual channels against all lagged inputs."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import matmul_toeplitz
from scipy.special import betainc, ndtri, stdtrit

from gpssm.metrics._autoregression import extended_autocorrelation


@final
@dataclass(frozen=True, eq=False)
class LagRegression:
    """Correlation of O channels with C lagged inputs, its bound, and the joint test of each channel."""

    correlation: Float[np.ndarray, "C O"]
    bound: Float[np.ndarray, "C O"]
    statistic: Float[np.ndarray, " O"]
    p_value: Float[np.ndarray, " O"]


def regress_on_lags(
    residuals: Float[np.ndarray, "T O"],
    scored: Bool[np.ndarray, " T"],
    lagged: Float[np.ndarray, "T C"],
    *,
    residual_order: int,
    level: float,
) -> LagRegression:
    """Test centred residuals (zero where not scored) against the columns of lagged inputs."""
    count = int(scored.sum())
    columns = np.where(scored[:, None], lagged - lagged[scored].mean(axis=0), 0.0)
    columns = columns / np.linalg.norm(columns, axis=0)
    # An orthonormal basis of what the lagged inputs span: inputs with few frequencies make the columns dependent.
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    basis = left[:, singular > 1e-10 * singular[0]]
    rank = basis.shape[1]
    freedom = count - 1 - rank
    if freedom < 1:
        raise ValueError(f"{count} usable steps are too few for {rank} independent lagged inputs; use fewer lags")
    unit = residuals / np.linalg.norm(residuals, axis=0)
    correlation, projection = columns.T @ unit, basis.T @ unit

    if residual_order == 0:
        # For given inputs and Gaussian white residuals each correlation has a t law (after the usual transformation).
        quantile = stdtrit(count - 2, 0.5 + 0.5 * level)
        bound = np.full(correlation.shape, quantile / np.sqrt(count - 2 + quantile**2))
        explained = np.sum(projection**2, axis=0)
    else:
        quantile = ndtri(0.5 + 0.5 * level)
        bound, explained = np.empty(correlation.shape), np.empty(correlation.shape[1])
        for channel, series in enumerate(unit.T):
            colour = extended_autocorrelation(series, scored, residual_order)
            variance = np.sum(columns * matmul_toeplitz(colour, columns), axis=0) / count
            bound[:, channel] = quantile * np.sqrt(variance)
            covariance = basis.T @ matmul_toeplitz(colour, basis)
            explained[channel] = projection[:, channel] @ np.linalg.solve(covariance, projection[:, channel])
    # The share of the residual's variance that the lags explain: a beta law for white residuals, which is the F-test,
    # and for coloured ones a better guess at finite length than its chi-square limit.
    p_value = betainc(0.5 * freedom, 0.5 * rank, 1.0 - np.minimum(explained, 1.0))
    return LagRegression(correlation, bound, count * explained, p_value)
