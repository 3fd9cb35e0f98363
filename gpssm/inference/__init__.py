"""Inference: posteriors over states and function, the bounds that they maximise, and the parts they are made of."""

from gpssm._core._sharding import AbstractShare, Unsharded
from gpssm.inference._base import AbstractInference, Needs
from gpssm.inference._bound import Bound
from gpssm.inference._defaults import closed_form, default_rule
from gpssm.inference._expectation import (
    AbstractExpectation,
    AbstractQuadrature,
    Cubature,
    GaussHermite,
    MonteCarlo,
)
from gpssm.inference._mean_field import MeanField
from gpssm.inference._q_u import AbstractInducing, Collapsed, Explicit, NaturalGradient
from gpssm.inference._smoother import linearised_posterior
from gpssm.inference.recognition import (
    GRU,
    AbstractCell,
    AbstractRecognition,
    BiRNN,
    PerStepStates,
    TanhRNN,
    WhitenedStates,
)

__all__ = [
    "GRU",
    "AbstractCell",
    "AbstractExpectation",
    "AbstractInducing",
    "AbstractInference",
    "AbstractQuadrature",
    "AbstractRecognition",
    "AbstractShare",
    "BiRNN",
    "Bound",
    "Collapsed",
    "Cubature",
    "Explicit",
    "GaussHermite",
    "MeanField",
    "MonteCarlo",
    "NaturalGradient",
    "Needs",
    "PerStepStates",
    "TanhRNN",
    "Unsharded",
    "WhitenedStates",
    "closed_form",
    "default_rule",
    "linearised_posterior",
]
