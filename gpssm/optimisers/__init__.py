"""Optimisers: ways to maximise the bound."""

from gpssm.fitting._batches import AbstractBatches, FullBatch, Minibatches, Windows
from gpssm.fitting._plateau import Plateau
from gpssm.fitting._problem import Training
from gpssm.optimisers._adam import Adam
from gpssm.optimisers._alternating import Alternating
from gpssm.optimisers._base import AbstractOptimiser, Trained
from gpssm.optimisers._lbfgs import LBFGS
from gpssm.optimisers._metric import MetricLBFGS
from gpssm.optimisers._rates import Rates

__all__ = [
    "LBFGS",
    "AbstractBatches",
    "AbstractOptimiser",
    "Adam",
    "Alternating",
    "FullBatch",
    "MetricLBFGS",
    "Minibatches",
    "Plateau",
    "Rates",
    "Trained",
    "Training",
    "Windows",
]
