"""Judging models by free runs over what they have not seen, and choosing among methods that way."""

from gpssm.evaluate._folds import AbstractFolds, Against, Blocks, EpisodeFolds, Fold, LongRuns, Stretches
from gpssm.evaluate._grid import grid
from gpssm.evaluate._held_out import HeldOut
from gpssm.evaluate._judge import Judged, judge
from gpssm.evaluate._score import Coverage, Score, score
from gpssm.evaluate._select import select
from gpssm.evaluate._selection import Row, Selection, Trial
from gpssm.evaluate._stacking import Shares

__all__ = [
    "AbstractFolds",
    "Against",
    "Blocks",
    "Coverage",
    "EpisodeFolds",
    "Fold",
    "HeldOut",
    "Judged",
    "LongRuns",
    "Row",
    "Score",
    "Selection",
    "Shares",
    "Stretches",
    "Trial",
    "grid",
    "judge",
    "score",
    "select",
]
