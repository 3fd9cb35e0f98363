"""Autoregressions."""

from gpssm.predict.autoregression._lags import Lags
from gpssm.predict.autoregression._predictor import Autoregression
from gpssm.predict.autoregression._regression import (
    AbstractRegression,
    AbstractRegressionDraw,
    LinearRegression,
    NoMean,
    SparseRegression,
)

__all__ = [
    "AbstractRegression",
    "AbstractRegressionDraw",
    "Autoregression",
    "Lags",
    "LinearRegression",
    "NoMean",
    "SparseRegression",
]
