"""Where methods find the wish to stop. It is defined below everything else, because the command has to hear of it
before JAX is imported."""

from gpssm._core._interrupt import InterruptedFitError, Interruption, Stopped

__all__ = ["InterruptedFitError", "Interruption", "Stopped"]
