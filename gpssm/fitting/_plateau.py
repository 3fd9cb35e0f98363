"""When to stop early."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Plateau:
    """Stop when the mean bound over the last `patience` steps is not `gain` nats a time step above that of the
    `patience` before."""

    patience: int = 300
    gain: float = 1e-3
    after: int = 600
    """Never stop before this step."""

    def reached(self, bounds: np.ndarray) -> bool:
        """Whether training has levelled off."""
        if len(bounds) < max(self.after, 2 * self.patience):
            return False
        recent, before = bounds[-self.patience :], bounds[-2 * self.patience : -self.patience]
        return float(recent.mean() - before.mean()) < self.gain
