"""Emissions: how the outputs are measured from the state."""

from gpssm.models.emission._base import AbstractEmission
from gpssm.models.emission._linear import LinearGaussian
from gpssm.models.emission._magnitude import Magnitude

__all__ = ["AbstractEmission", "LinearGaussian", "Magnitude"]
