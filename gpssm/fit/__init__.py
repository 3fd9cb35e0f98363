"""Fitting."""

from gpssm._history import History
from gpssm.fit._batches import AbstractBatches, FullBatch, Minibatches, Windows
from gpssm.fit._fit import Trained, held_out_bound, prepare, train
from gpssm.fit._loop import Snapshot, drive
from gpssm.fit._optimiser import Rates, adam
from gpssm.fit._plateau import Plateau
from gpssm.fit._polish import polish
from gpssm.fit._progress import Console, Progress, Silent, Status
from gpssm.fit._recorder import Recorder
from gpssm.fit._restarts import train_many

__all__ = [
    "AbstractBatches",
    "Console",
    "FullBatch",
    "History",
    "Minibatches",
    "Plateau",
    "Progress",
    "Rates",
    "Recorder",
    "Silent",
    "Snapshot",
    "Status",
    "Trained",
    "Windows",
    "adam",
    "drive",
    "held_out_bound",
    "polish",
    "prepare",
    "train",
    "train_many",
]
