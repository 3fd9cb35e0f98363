"""Kernels: all of GPJax's, what GPJax lacks, and the functions by which a kernel from outside brings its own pieces."""

from gpssm.kernels import _gpjax as _gpjax  # registers the pieces of GPJax's kernels
from gpssm.kernels._angles import Angles
from gpssm.kernels._arccosine import ArcCosine0
from gpssm.kernels._evaluate import cross_covariance, diagonal
from gpssm.kernels._features import PriorDraw, draw_prior, random_directions, random_features
from gpssm.kernels._manifold import Manifold
from gpssm.kernels._words import kernel_from_words, kernel_words, register_kernel_word

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
    "random_directions",
    "random_features",
    "register_kernel_word",
]
