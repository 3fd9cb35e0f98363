"""Marginal inference: states integrated out by a Gaussian filter, the function by Laplace."""

from gpssm.inference.marginal._carry import AbstractCarry, Carried, OnNodes, Tangent
from gpssm.inference.marginal._filter import Belief, filtered, measured, state_factor
from gpssm.inference.marginal._function import GivenFunction
from gpssm.inference.marginal._laplace import Evidence, FilterLaplace, evidence_of, whitened_values, with_posterior
from gpssm.inference.marginal._noise_prior import NoisePrior

__all__ = [
    "AbstractCarry",
    "Belief",
    "Carried",
    "Evidence",
    "FilterLaplace",
    "GivenFunction",
    "NoisePrior",
    "OnNodes",
    "Tangent",
    "evidence_of",
    "filtered",
    "measured",
    "state_factor",
    "whitened_values",
    "with_posterior",
]
