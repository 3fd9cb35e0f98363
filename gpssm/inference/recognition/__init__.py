"""Recognition: from an episode to a posterior over its states."""

from gpssm.inference.recognition._base import AbstractRecognition, mask_padding
from gpssm.inference.recognition._birnn import BiRNN
from gpssm.inference.recognition._cells import GRU, AbstractCell, TanhRNN
from gpssm.inference.recognition._per_step import PerStepStates
from gpssm.inference.recognition._whitened import WhitenedStates

__all__ = [
    "GRU",
    "AbstractCell",
    "AbstractRecognition",
    "BiRNN",
    "PerStepStates",
    "TanhRNN",
    "WhitenedStates",
    "mask_padding",
]
