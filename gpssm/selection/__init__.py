"""Choosing among models by free runs over several held-out parts of the training data, with several seeds."""

from gpssm.selection._folds import AbstractFolds, Blocks, EpisodeFolds, Fold, LongRuns
from gpssm.selection._grid import grid
from gpssm.selection._held_out import HeldOut
from gpssm.selection._linear_mean import identified_linear_mean
from gpssm.selection._models import (
    EnsembleCandidate,
    FreeStatesCandidate,
    GPSSMCandidate,
    GrownCandidate,
    OutputErrorCandidate,
)
from gpssm.selection._opponents import (
    AbstractDeterministic,
    AutoregressiveGPCandidate,
    AutoregressiveLinearCandidate,
    ConstantCandidate,
    LinearKalmanCandidate,
)
from gpssm.selection._scores import Row, Score, Selection
from gpssm.selection._select import select
from gpssm.selection._stacking import Mixture
from gpssm.selection._sweep import Sweep, sweep

__all__ = [
    "AbstractDeterministic",
    "AbstractFolds",
    "AutoregressiveGPCandidate",
    "AutoregressiveLinearCandidate",
    "Blocks",
    "ConstantCandidate",
    "EnsembleCandidate",
    "EpisodeFolds",
    "Fold",
    "FreeStatesCandidate",
    "GPSSMCandidate",
    "GrownCandidate",
    "HeldOut",
    "LinearKalmanCandidate",
    "LongRuns",
    "Mixture",
    "OutputErrorCandidate",
    "Row",
    "Score",
    "Selection",
    "Sweep",
    "grid",
    "identified_linear_mean",
    "select",
    "sweep",
]
