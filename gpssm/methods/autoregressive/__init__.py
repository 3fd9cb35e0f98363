"""Autoregressions."""

from gpssm.methods.autoregressive._arx import ARX
from gpssm.methods.autoregressive._gp_narx import GPNARX

__all__ = ["ARX", "GPNARX"]
