"""gpssm: learn a dynamical system from data with a Gaussian-process state-space model."""

from gpssm import kernels, metrics
from gpssm._emission import AbstractEmission, LinearGaussian
from gpssm._history import History
from gpssm._identify import FitResult, fit, fit_free, identify, refine
from gpssm._model import GPSSM
from gpssm._posterior import AbstractStatePosterior, GaussMarkov
from gpssm._result import FitError, Result
from gpssm.data import DataError, Episode, Episodes, Padded, Scaler
from gpssm.fit import Console, FullBatch, Minibatches, Plateau, Rates, Silent, Windows, adam, drive, polish, train
from gpssm.inference import Bound, Collapsed, Explicit, GaussHermite, NaturalGradient, Paths, Variational
from gpssm.predict import (
    EKF,
    UKF,
    Filtered,
    Identified,
    IndependentSteps,
    MeanOnly,
    OnlineFilter,
    ParticleFilter,
    Pathwise,
    Recognised,
    Rollout,
    States,
)
from gpssm.recognition import GRU, AbstractRecognition, BiRNN, FreeStates, TanhRNN
from gpssm.transition import AbstractMean, AbstractTransition, KeepState, Linear, LinearMean, SparseGP

__version__ = "0.1.0"

__all__ = [
    "EKF",
    "GPSSM",
    "GRU",
    "UKF",
    "AbstractEmission",
    "AbstractMean",
    "AbstractRecognition",
    "AbstractStatePosterior",
    "AbstractTransition",
    "BiRNN",
    "Bound",
    "Collapsed",
    "Console",
    "DataError",
    "Episode",
    "Episodes",
    "Explicit",
    "Filtered",
    "FitError",
    "FitResult",
    "FreeStates",
    "FullBatch",
    "GaussHermite",
    "GaussMarkov",
    "History",
    "Identified",
    "IndependentSteps",
    "KeepState",
    "Linear",
    "LinearGaussian",
    "LinearMean",
    "MeanOnly",
    "Minibatches",
    "NaturalGradient",
    "OnlineFilter",
    "Padded",
    "ParticleFilter",
    "Paths",
    "Pathwise",
    "Plateau",
    "Rates",
    "Recognised",
    "Result",
    "Rollout",
    "Scaler",
    "Silent",
    "SparseGP",
    "States",
    "TanhRNN",
    "Variational",
    "Windows",
    "adam",
    "drive",
    "fit",
    "fit_free",
    "identify",
    "kernels",
    "metrics",
    "polish",
    "refine",
    "train",
]
