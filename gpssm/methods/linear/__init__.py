"""Linear state-space models."""

from gpssm.methods.linear._kalman import Linear, kalman_evidence

__all__ = ["Linear", "kalman_evidence"]
