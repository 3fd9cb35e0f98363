"""Recognition: from an episode to a posterior over its states."""

from gpssm.recognition._base import AbstractRecognition
from gpssm.recognition._birnn import BiRNN
from gpssm.recognition._cells import GRU, AbstractCell, TanhRNN
from gpssm.recognition._free import FreeStates

__all__ = ["GRU", "AbstractCell", "AbstractRecognition", "BiRNN", "FreeStates", "TanhRNN"]
