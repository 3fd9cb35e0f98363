"""Prediction with a learnt model."""

from gpssm.predict._base import AbstractPredictor
from gpssm.predict._channels import Channels
from gpssm.predict._constant import ConstantPredictor, RepeatPredictor
from gpssm.predict._kalman import LinearSystem
from gpssm.predict._linear import LinearPredictor
from gpssm.predict._mixture import MixturePredictor
from gpssm.predict._online import OnlineFilter
from gpssm.predict._propagate import AbstractPropagation, IndependentSteps, MeanOnly, Pathwise
from gpssm.predict._rollout import Rollout, States
from gpssm.predict._system import System
from gpssm.predict.autoregression import Autoregression, Lags

__all__ = [
    "AbstractPredictor",
    "AbstractPropagation",
    "Autoregression",
    "Channels",
    "ConstantPredictor",
    "IndependentSteps",
    "Lags",
    "LinearPredictor",
    "LinearSystem",
    "MeanOnly",
    "MixturePredictor",
    "OnlineFilter",
    "Pathwise",
    "RepeatPredictor",
    "Rollout",
    "States",
    "System",
]
