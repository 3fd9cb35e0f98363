"""Identification by free runs: the simulated outputs themselves are fitted, with priors that keep them honest."""

from gpssm.output_error._fit import fit_output_error
from gpssm.output_error._start import AbstractReading, Signed, Unsigned

__all__ = ["AbstractReading", "Signed", "Unsigned", "fit_output_error"]
