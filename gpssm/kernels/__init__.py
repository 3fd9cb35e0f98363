"""Kernels: all of GPJax's, what GPJax lacks, and the functions by which a kernel from outside brings its own pieces."""

from typing import TYPE_CHECKING

from gpssm.kernels._evaluate import cross_covariance, diagonal
from gpssm.kernels._features import PriorDraw, draw_prior, random_directions, random_features
from gpssm.kernels._late import everything

if TYPE_CHECKING:
    from gpssm.kernels._all import (
        Angles,
        ArcCosine0,
        Manifold,
        kernel_from_words,
        kernel_words,
        register_kernel_word,
    )

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


def __getattr__(name: str) -> object:
    """Import what needs GPJax when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'gpssm.kernels' has no attribute {name!r}")
    value = getattr(everything(), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
