"""Identification by free runs: the simulated outputs themselves are fitted, with priors that keep them honest."""

from gpssm.methods.output_error._method import OutputError

__all__ = ["OutputError"]
