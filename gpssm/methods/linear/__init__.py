"""Linear state-space models."""

from gpssm.methods.linear._kalman import Linear, kalman_evidence
from gpssm.methods.linear._subspace import Subspace

__all__ = ["Linear", "Subspace", "kalman_evidence"]
