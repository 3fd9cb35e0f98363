"""Transitions: how the state moves."""

from gpssm.transition._base import AbstractDynamics, AbstractFunctionDraw, AbstractTransition, Conditioned, Transitions
from gpssm.transition._linear import Linear
from gpssm.transition._mean import AbstractMean, KeepState, LinearMean
from gpssm.transition._sparse_gp import SparseGP

__all__ = [
    "AbstractDynamics",
    "AbstractFunctionDraw",
    "AbstractMean",
    "AbstractTransition",
    "Conditioned",
    "KeepState",
    "Linear",
    "LinearMean",
    "SparseGP",
    "Transitions",
]
