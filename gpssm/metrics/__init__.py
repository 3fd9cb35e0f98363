"""How good a prediction is: point errors, probabilistic scores, calibration and residual tests.

Everything here is plain NumPy: arrays in, numbers or small frozen records out. Outputs have shape ``(T, O)`` (steps,
channels), samples ``(S, T, O)``; the last axis is always the channel, except that a one-dimensional array is one
channel. ``where`` is a boolean mask of the entries that count; the others may hold anything, even NaN.
"""

from gpssm.metrics._calibration import CalibrationResult, calibration_test, effective_pit_count
from gpssm.metrics._coverage import interval_coverage
from gpssm.metrics._density import log_density_gaussian, log_density_samples
from gpssm.metrics._effective_size import effective_sample_size
from gpssm.metrics._independence import IndependenceResult, input_independence
from gpssm.metrics._pit import pit_samples
from gpssm.metrics._point import fit_percent, mae, nrmse_std, r2, rmse
from gpssm.metrics._rank_score import crps_samples
from gpssm.metrics._states import state_r2
from gpssm.metrics._whiteness import WhitenessResult, residual_whiteness

__all__ = [
    "CalibrationResult",
    "IndependenceResult",
    "WhitenessResult",
    "calibration_test",
    "crps_samples",
    "effective_pit_count",
    "effective_sample_size",
    "fit_percent",
    "input_independence",
    "interval_coverage",
    "log_density_gaussian",
    "log_density_samples",
    "mae",
    "nrmse_std",
    "pit_samples",
    "r2",
    "residual_whiteness",
    "rmse",
    "state_r2",
]
