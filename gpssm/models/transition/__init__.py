"""Transitions: how the state moves."""

from gpssm.models.transition._base import (
    AbstractDynamics,
    AbstractFunctionDraw,
    AbstractTransition,
    Conditioned,
    Transitions,
)
from gpssm.models.transition._linear import LinearTransition
from gpssm.models.transition._mean import AbstractMean, FadingMean, IdentityMean, LinearMean
from gpssm.models.transition._sparse_gp import SparseGP
from gpssm.models.transition._stable import StableMean

__all__ = [
    "AbstractDynamics",
    "AbstractFunctionDraw",
    "AbstractMean",
    "AbstractTransition",
    "Conditioned",
    "FadingMean",
    "IdentityMean",
    "LinearMean",
    "LinearTransition",
    "SparseGP",
    "StableMean",
    "Transitions",
]
