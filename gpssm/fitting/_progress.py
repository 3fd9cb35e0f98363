"""What a fit shows while it runs."""

import sys
import time
from dataclasses import dataclass, field
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
        parts.append(f"{self.steps_per_second:.0f} steps/s, {self.eta:.0f} s left")
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


@runtime_checkable
class Stream(Protocol):
    """Where a console writes: a terminal, a file, or a buffer."""

    def write(self, text: str, /) -> object:
        """Take text."""

    def flush(self) -> object:
        """Let it be seen."""

    def isatty(self) -> bool:
        """Whether lines can be rewritten."""
        ...


@dataclass
class Console:
    """On a terminal one line that is rewritten; elsewhere a line every `every` seconds."""

    stream: Stream = field(default_factory=lambda: sys.stderr)
    every: float = 5.0
    _last: float = field(default=-np.inf, init=False)
    _open: bool = field(default=False, init=False)

    def update(self, status: Status) -> None:
        """Show the present state."""
        done = status.step >= status.total
        if self.stream.isatty():
            self.stream.write("\r\x1b[2K" + status.line())
            self._open = True
        elif done or time.monotonic() - self._last >= self.every:
            self.stream.write(status.line() + "\n")
            self._last = time.monotonic()
        self.stream.flush()

    def say(self, message: str) -> None:
        """Show a message on a line of its own."""
        self.stream.write(("\n" if self._open else "") + message + "\n")
        self._open = False
        self.stream.flush()


def _levels(variances: np.ndarray) -> str:
    return " ".join(f"{level:.3g}" for level in np.sqrt(np.atleast_1d(variances)))
