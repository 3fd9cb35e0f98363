"""Whether residuals still depend on past inputs, that is, whether the model missed a response to them."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from gpssm.metrics._lag_regression import regress_on_lags
from gpssm.metrics._scored import Values, require_level
from gpssm.metrics._series import centred, combined_p_value, series_columns


@final
@dataclass(frozen=True, eq=False)
class IndependenceResult:
    """Outcome of `input_independence`; K lags, O residual channels, P inputs."""

    lags: Int[np.ndarray, " K"]
    cross_correlation: Float[np.ndarray, "K O P"]
    """Correlation of residual[t] with input[t - lag]."""
    bound: Float[np.ndarray, "K O P"]
    """What its absolute value keeps below with probability ``level`` at one given lag, if there is no dependence."""
    statistic: Float[np.ndarray, " O"]
    channel_p_values: Float[np.ndarray, " O"]
    p_value: float
    """Of all channels together: the smallest times the number of channels, at most 1."""
    passed: bool
    """True if p_value is at least 1 - level: no evidence of dependence."""


def input_independence(
    residuals: Values,
    inputs: Values,
    *,
    lags: int = 25,
    first_lag: int = 0,
    residual_order: int = 0,
    level: float = 0.99,
    where: ArrayLike | None = None,
) -> IndependenceResult:
    """Cross-correlation of residuals (T,) or (T, O) with inputs (T,) or (T, P) at first_lag..lags, and a joint test.

    The inputs are taken as given and may have any colour. Under feedback use ``first_lag=1``: input[t] then reacts to
    what was measured at t.

    With ``residual_order=0`` the residuals are white if the model is right. For Gaussian ones both bounds and p-values
    are then exact: the joint test is the F-test of regressing the residual on all lagged inputs. With
    ``residual_order=p > 0`` the residuals may be coloured (a free run, an output-error model). The variance of the
    cross-correlation is then the sum over all k of R_e(k) R_u(k) / N, in units of R_e(0) R_u(0), where R_e follows the
    data up to lag p and an autoregression of that order beyond, and the joint test uses the matching covariance between
    lags; both hold for long series.
    """
    require_level(level)
    series, mask = series_columns("residuals", residuals, where)
    controls, _ = series_columns("inputs", inputs)
    steps, num_inputs = controls.shape
    if len(series) != steps:
        raise ValueError(f"residuals have {len(series)} steps, inputs have {steps}")
    if not 0 <= first_lag <= lags < steps:
        raise ValueError(f"need 0 <= first_lag <= lags < {steps} steps, got first_lag={first_lag} and lags={lags}")
    if residual_order < 0:
        raise ValueError(f"residual_order must not be negative, got {residual_order}")

    # Steps without a full input history are not used.
    series, mask = series[lags:], mask[lags:]
    usable = centred("residuals", series, mask)
    lag_values = np.arange(first_lag, lags + 1)
    lagged = np.column_stack([controls[lags - lag : steps - lag, p] for p in range(num_inputs) for lag in lag_values])
    # Channels with the same gaps share one regression.
    patterns, members = np.unique(mask, axis=1, return_inverse=True)
    shape = (lagged.shape[1], usable.shape[1])
    correlation, bound = np.empty(shape), np.empty(shape)
    statistic, p_values = np.empty(shape[1]), np.empty(shape[1])
    for index, scored in enumerate(patterns.T):
        constant = np.flatnonzero(np.ptp(lagged[scored], axis=0) == 0.0)
        if len(constant):
            which, lag = divmod(int(constant[0]), len(lag_values))
            raise ValueError(
                f"input {which} at lag {int(lag_values[lag])} is constant over the usable steps: leave it out"
            )
        same = members.ravel() == index
        test = regress_on_lags(usable[:, same], scored, lagged, residual_order=residual_order, level=level)
        correlation[:, same], bound[:, same] = test.correlation, test.bound
        statistic[same], p_values[same] = test.statistic, test.p_value
    p_value = combined_p_value(p_values)
    by_lag = (num_inputs, len(lag_values), shape[1])
    return IndependenceResult(
        lags=lag_values,
        cross_correlation=correlation.reshape(by_lag).transpose(1, 2, 0),
        bound=bound.reshape(by_lag).transpose(1, 2, 0),
        statistic=statistic,
        channel_p_values=p_values,
        p_value=p_value,
        passed=p_value >= 1.0 - level,
    )
