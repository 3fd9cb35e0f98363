"""Prediction with a learnt model."""

from gpssm.predict._ensemble import Ensemble
from gpssm.predict._estimators import EKF, UKF, AbstractEstimator, ParticleFilter
from gpssm.predict._identified import Identified
from gpssm.predict._online import OnlineFilter
from gpssm.predict._propagate import AbstractPropagation, IndependentSteps, MeanOnly, Pathwise
from gpssm.predict._rollout import Rollout, States
from gpssm.predict._start import AbstractStart, Filtered, Recognised

__all__ = [
    "EKF",
    "UKF",
    "AbstractEstimator",
    "AbstractPropagation",
    "AbstractStart",
    "Ensemble",
    "Filtered",
    "Identified",
    "IndependentSteps",
    "MeanOnly",
    "OnlineFilter",
    "ParticleFilter",
    "Pathwise",
    "Recognised",
    "Rollout",
    "States",
]
