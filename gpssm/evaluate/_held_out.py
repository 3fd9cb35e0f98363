"""What a free run said about steps that were held out, and what was measured there."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float


@final
@dataclass(frozen=True)
class HeldOut:
    """Misses and spreads of one free run in standardised units, for the steps in which anything was observed."""

    missed: Float[np.ndarray, "N O"]
    """Measured outputs less the median of the run."""
    spread: Float[np.ndarray, "N O"]
    """Central standard deviation of the run."""
    known: Bool[np.ndarray, "N O"]

    def log_densities(self, factor: float = 1.0) -> Float[np.ndarray, " N"]:
        """Gaussian log-density of each step, if all spreads were `factor` times as wide."""
        spread = factor * self.spread
        entries = -0.5 * (self.missed / spread) ** 2 - np.log(spread) - 0.5 * np.log(2.0 * np.pi)
        return np.where(self.known, entries, 0.0).sum(axis=1)

    @property
    def log_density(self) -> float:
        """Mean over all outputs that were observed."""
        return float(self.log_densities().sum() / self.known.sum())

    @property
    def error(self) -> float:
        """Root mean squared miss."""
        return float(np.sqrt((self.missed[self.known] ** 2).mean()))
