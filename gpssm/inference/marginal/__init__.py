"""Marginal inference: states integrated out by a Gaussian filter, the function by Laplace."""

from gpssm.inference.marginal._carry import AbstractCarry, Carried, OnNodes, Tangent
from gpssm.inference.marginal._evidence import Evidence, evidence_of
from gpssm.inference.marginal._exact_moments import ExactMoments
from gpssm.inference.marginal._filter import Belief, filtered, measured, state_factor
from gpssm.inference.marginal._free_runs import FreeRuns
from gpssm.inference.marginal._function import GivenFunction
from gpssm.inference.marginal._information import FunctionPosterior, function_posterior
from gpssm.inference.marginal._laplace import FilterLaplace, information_at, whitened_values, with_posterior
from gpssm.inference.marginal._noise_prior import NoisePrior
from gpssm.inference.marginal._particles import particle_log_evidence
from gpssm.inference.marginal._parts import Parts
from gpssm.inference.marginal._point_mass import PointMass

__all__ = [
    "AbstractCarry",
    "Belief",
    "Carried",
    "Evidence",
    "ExactMoments",
    "FilterLaplace",
    "FreeRuns",
    "FunctionPosterior",
    "GivenFunction",
    "NoisePrior",
    "OnNodes",
    "Parts",
    "PointMass",
    "Tangent",
    "evidence_of",
    "filtered",
    "function_posterior",
    "information_at",
    "measured",
    "particle_log_evidence",
    "state_factor",
    "whitened_values",
    "with_posterior",
]
