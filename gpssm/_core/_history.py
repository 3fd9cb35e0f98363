"""The record of a fit."""

from dataclasses import dataclass, field
from typing import overload

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

CHOSEN = "chosen: "
"""What the event begins with that says why a model was kept of several that competed."""


class Trace(eqx.Module):
    """What a training step reports; stacked over the steps of a run."""

    terms: dict[str, Float[Array, "*S"]]
    total: Float[Array, "*S"]
    process_noise: Float[Array, "*S D"]
    measurement_noise: Float[Array, "*S O"]
    gradient_norm: Float[Array, "*S"]
    jitter: Float[Array, "*S"]


@dataclass
class History:
    """Every step's bound per time step, its terms and the noise levels, as arrays; held-out scores where they were
    taken."""

    num_steps: float
    """Time steps in the training data, by which bounds are divided."""
    bound: np.ndarray = field(default_factory=lambda: np.zeros(0))
    terms: dict[str, np.ndarray] = field(default_factory=dict)
    process_noise: np.ndarray | None = None
    measurement_noise: np.ndarray | None = None
    gradient_norm: np.ndarray = field(default_factory=lambda: np.zeros(0))
    held_out: list[tuple[int, float]] = field(default_factory=list)
    """(step, bound per held-out time step)."""
    events: list[str] = field(default_factory=list)
    """What went wrong on the way and what was done about it, and how stages ended."""
    seconds: float = 0.0
    averaged: int = 1
    """The bound with which training ended is the average of so many last steps, because those of Adam are noisy."""

    @property
    def final_bound(self) -> float:
        """The bound per time step with which training ended; minus infinity if there is none."""
        last = self.bound[-self.averaged :]
        return float(np.mean(last)) if len(last) and np.isfinite(last).all() else -np.inf

    @property
    def chosen(self) -> bool:
        """Whether the model was chosen among several."""
        return any(event.startswith(CHOSEN) for event in self.events)

    def append(self, trace: Trace) -> None:
        """Add a run of steps."""
        self.bound = _join(self.bound, np.asarray(trace.total) / self.num_steps)
        for name, values in trace.terms.items():
            self.terms[name] = _join(self.terms.get(name), np.asarray(values) / self.num_steps)
        self.process_noise = _join(self.process_noise, np.asarray(trace.process_noise))
        self.measurement_noise = _join(self.measurement_noise, np.asarray(trace.measurement_noise))
        self.gradient_norm = _join(self.gradient_norm, np.asarray(trace.gradient_norm))

    def then(self, later: "History") -> "History":
        """This history followed by that of a later stage."""
        shift = len(self.bound)
        return History(
            num_steps=later.num_steps,
            bound=_join(self.bound, later.bound),
            terms={
                name: _join(self.terms.get(name, np.zeros(0)), later.terms.get(name))
                for name in {**self.terms, **later.terms}
            },
            process_noise=_join(self.process_noise, later.process_noise),
            measurement_noise=_join(self.measurement_noise, later.measurement_noise),
            gradient_norm=_join(self.gradient_norm, later.gradient_norm),
            held_out=self.held_out + [(step + shift, score) for step, score in later.held_out],
            events=self.events + later.events,
            seconds=self.seconds + later.seconds,
            averaged=min(later.averaged, len(later.bound)) if len(later.bound) else self.averaged,
        )


@overload
def _join(before: np.ndarray | None, after: np.ndarray) -> np.ndarray: ...
@overload
def _join(before: np.ndarray, after: np.ndarray | None) -> np.ndarray: ...
@overload
def _join(before: np.ndarray | None, after: np.ndarray | None) -> np.ndarray | None: ...
def _join(before: np.ndarray | None, after: np.ndarray | None) -> np.ndarray | None:
    """One after the other. Where nothing was recorded nothing is added: a stage may be broken off before its first
    step."""
    if after is None or (before is not None and not after.size):
        return before
    return after if before is None or not before.size else np.concatenate([before, after])
