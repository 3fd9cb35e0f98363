"""Kernels: all of GPJax's, and what GPJax lacks."""

from gpssm.kernels._angles import Angles
from gpssm.kernels._arccosine import ArcCosine0
from gpssm.kernels._evaluate import cross_covariance, diagonal
from gpssm.kernels._features import PriorDraw, draw_prior
from gpssm.kernels._manifold import Manifold
from gpssm.kernels._words import kernel_from_words, kernel_words

__all__ = [
    "Angles",
    "ArcCosine0",
    "Manifold",
    "PriorDraw",
    "cross_covariance",
    "diagonal",
    "draw_prior",
    "kernel_from_words",
    "kernel_words",
]
