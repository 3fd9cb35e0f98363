"""Autoregressions."""

from gpssm.predict.autoregression._free_run import AbstractGPRegression, AbstractRegressionDraw
from gpssm.predict.autoregression._lags import Lags
from gpssm.predict.autoregression._linear import LinearRegression
from gpssm.predict.autoregression._predictor import Autoregression
from gpssm.predict.autoregression._regression import AbstractRegression
from gpssm.predict.autoregression._sparse import NoMean, SparseRegression

__all__ = [
    "AbstractGPRegression",
    "AbstractRegression",
    "AbstractRegressionDraw",
    "Autoregression",
    "Lags",
    "LinearRegression",
    "NoMean",
    "SparseRegression",
]
