"""What every continuous-time system answers, and what every simulation returns."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Array, Float

from gpssm.data import Episodes

Derivative = Callable[[Float[Array, " D"], Float[Array, " P"]], Float[Array, " D"]]


@final
@dataclass(frozen=True)
class Simulated:
    """Noisy measurements of a known system together with the states that produced them.

    `states[i]` has one row per row of `episodes[i]`, holds every state (measured or hidden) and carries no
    observation noise, so it is the truth that an identified model is judged against.
    """

    episodes: Episodes
    states: tuple[Float[np.ndarray, "T D"], ...]


class AbstractIntegrator(abc.ABC):
    """How a continuous-time system is carried over one sampling interval."""

    @abc.abstractmethod
    def advance(
        self, derivative: Derivative, state: Float[Array, " D"], action: Float[Array, " P"], dt: float
    ) -> Float[Array, " D"]:
        """The state `dt` seconds later, the action being held constant."""


class AbstractContinuousSystem(abc.ABC):
    """A differential equation with a held action, measured at a fixed interval.

    The attributes are plain numbers and tuples, so a system can be hashed and is a compile-time constant.
    """

    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    action_limit: float
    initial_mean: tuple[float, ...]
    initial_sd: tuple[float, ...]
    observation_variance: float
    process_variance: float
    dt: float
    integrator: AbstractIntegrator

    @abc.abstractmethod
    def derivative(self, state: Float[Array, " D"], action: Float[Array, " P"]) -> Float[Array, " D"]:
        """Time derivative of the state under a constant action."""
