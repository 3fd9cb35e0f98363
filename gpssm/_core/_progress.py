"""What a fit tells while it runs, and who may want to hear it."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np


@dataclass(frozen=True)
class Status:
    """The state of a fit at one moment."""

    stage: str
    step: int
    total: int
    bound: float
    """What is being maximised or minimised."""
    steps_per_second: float
    """Without the time for compiling, which comes once."""
    process_noise: np.ndarray | None = None
    measurement_noise: np.ndarray | None = None
    held_out: float | None = None
    label: str = "ELBO/step"
    """What `bound` is."""

    @property
    def eta(self) -> float:
        """Seconds left at the present pace."""
        return (self.total - self.step) / max(self.steps_per_second, 1e-9)

    def line(self) -> str:
        """One line for people."""
        parts = [
            f"{self.stage:>9} {self.step:>6}/{self.total}",
            f"{self.label} {self.bound:+.4f}",
        ]
        if self.process_noise is not None and self.measurement_noise is not None:
            parts.append(f"process sd {_levels(self.process_noise)}")
            parts.append(f"output sd {_levels(self.measurement_noise)}")
        if self.held_out is not None:
            parts.append(f"held out {self.held_out:+.4f}")
        parts.append(f"{_pace(self.steps_per_second)}, {self.eta:.0f} s left")
        return "  ".join(parts)


@runtime_checkable
class Progress(Protocol):
    """Anything that wants to hear how a fit goes."""

    def update(self, status: Status) -> None:
        """A run of steps was made."""

    def say(self, message: str) -> None:
        """Something worth a line happened."""


class Silent:
    """Shows nothing."""

    def update(self, status: Status) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        """Nothing."""


def _levels(variances: np.ndarray) -> str:
    return " ".join(f"{level:.3g}" for level in np.sqrt(np.atleast_1d(variances)))


def _pace(steps_per_second: float) -> str:
    if steps_per_second >= 1.0:
        return f"{steps_per_second:.0f} steps/s"
    return f"{1.0 / max(steps_per_second, 1e-9):.1f} s a step"
