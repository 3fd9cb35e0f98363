"""Linear autoregressions (ARX), by least squares."""

import time

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm._core._history import History
from gpssm._core._result import Result
from gpssm.fitting import AbstractMethod, Fit, Prepared, Run
from gpssm.predict import Autoregression, Lags
from gpssm.predict.autoregression import LinearRegression

RIDGE = 1e9
"""Above this, in units of scaled regressors, nothing would be left of the coefficients but rounding."""


class ARX(AbstractMethod):
    """A linear map from the last outputs and inputs to the next output, by least squares with a slight ridge.

    Free runs draw the coefficients from their posterior.
    """

    output_lags: int = 1
    input_lags: int | None = None
    """None: as many inputs as outputs are looked back upon."""
    ridge: float = 1e-6
    max_radius: float | None = 1.0
    """Regressions on noisy data, and draws around them, are often slightly unstable, and a long free run explodes.
    Recurrences with a larger spectral radius are pulled back to this one; None leaves them as they are."""

    def __check_init__(self) -> None:
        if not 0.0 <= self.ridge < RIDGE:
            raise ValueError(f"ridge={self.ridge}: must be at least 0 and below {RIDGE:g}")

    @property
    def deterministic(self) -> bool:
        return True

    def fit(self, data: Prepared, run: Run, *, key: PRNGKeyArray) -> Fit:
        """Solve the normal equations."""
        began = time.monotonic()
        lags = lags_for(data, self.output_lags, self.input_lags, False)
        table, targets = lags.table(data.scaled)
        rows = np.concatenate([table, np.ones((len(table), 1))], axis=1)
        precision = rows.T @ rows + self.ridge * len(rows) * np.eye(rows.shape[1])
        weights = np.linalg.solve(precision, rows.T @ targets)
        freedom = max(len(rows) - rows.shape[1], 1)
        noise = np.maximum(((targets - rows @ weights) ** 2).sum(axis=0) / freedom, 1e-10)
        # With precision = L L', L^-T e has the covariance of the coefficients up to the noise variance.
        chol = np.linalg.inv(np.linalg.cholesky(precision)).T
        squares = (targets - rows @ weights) ** 2
        evidence = float(-0.5 * np.sum(np.log(2.0 * np.pi * noise) + squares / noise))
        weights, chol, noise = jax.device_put((weights, chol, noise))
        regression = LinearRegression(weights, chol, noise, self.output_lags, self.max_radius)
        system = Autoregression(regression, lags, data.scaler, data.channels, evidence)
        history = History(float(data.episodes.num_steps), seconds=time.monotonic() - began)
        history.events.append(f"least squares on {len(table)} rows")
        return Fit.of(system, self, Result.finished, history)


def lags_for(data: Prepared, output_lags: int, input_lags: int | None, increment: bool) -> Lags:
    """The lags of a method on these records."""
    inputs = output_lags if input_lags is None else input_lags
    return Lags(output_lags, inputs if data.episodes.num_inputs else 0, increment)
