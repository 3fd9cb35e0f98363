"""Inference: the bound, and how its expectations and its q(u) are treated."""

from gpssm.inference._bound import Bound
from gpssm.inference._defaults import closed_form, default_rule
from gpssm.inference._expectation import AbstractExpectation, Cubature, GaussHermite, Paths
from gpssm.inference._inducing import AbstractInducing, Collapsed, Explicit, NaturalGradient
from gpssm.inference._variational import Variational

__all__ = [
    "AbstractExpectation",
    "AbstractInducing",
    "Bound",
    "Collapsed",
    "Cubature",
    "Explicit",
    "GaussHermite",
    "NaturalGradient",
    "Paths",
    "Variational",
    "closed_form",
    "default_rule",
]
