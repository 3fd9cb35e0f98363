"""Fitting: one fit, its stages and its result, whatever the method."""

from gpssm._core._history import History
from gpssm._core._result import FitError, Result
from gpssm.fitting._method import AbstractMethod, Then
from gpssm.fitting._prepared import Prepared, Room
from gpssm.fitting._progress import Console, Progress, Silent, Status
from gpssm.fitting._result import Fit
from gpssm.fitting._run import Run
from gpssm.fitting._session import learn
from gpssm.fitting._stage import Stage

__all__ = [
    "AbstractMethod",
    "Console",
    "Fit",
    "FitError",
    "History",
    "Prepared",
    "Progress",
    "Result",
    "Room",
    "Run",
    "Silent",
    "Stage",
    "Status",
    "Then",
    "learn",
]
