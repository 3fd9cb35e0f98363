"""A driven, damped pendulum whose velocity is hidden: the smallest system with an unmeasured state."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from gpssm.systems._base import AbstractContinuousSystem, AbstractIntegrator, Simulated
from gpssm.systems._integrators import RungeKutta4
from gpssm.systems._simulate import simulate


@final
@dataclass(frozen=True)
class Pendulum(AbstractContinuousSystem):
    """A point mass on a massless rod: m l^2 a = torque - friction w - m g l sin(angle); angle 0 hangs down."""

    mass: float = 1.0
    length: float = 1.0
    friction: float = 0.5
    gravity: float = 9.81
    action_limit: float = 6.0
    initial_mean: tuple[float, ...] = (0.0, 0.0)
    initial_sd: tuple[float, ...] = (0.5, 0.5)
    observation_variance: float = 0.02**2
    process_variance: float = 0.0
    dt: float = 0.1
    integrator: AbstractIntegrator = field(default_factory=lambda: RungeKutta4(substeps=50))
    state_names: tuple[str, ...] = ("angle", "angular_velocity")
    action_names: tuple[str, ...] = ("torque",)

    def derivative(self, state: Float[Array, " 2"], action: Float[Array, " 1"]) -> Float[Array, " 2"]:
        angle, velocity = state
        torque = action[0] - self.friction * velocity - self.mass * self.gravity * self.length * jnp.sin(angle)
        return jnp.stack([velocity, torque / (self.mass * self.length**2)])

    def simulate(
        self, *, episodes: int = 15, steps: int = 40, hold: int = 4, observed: Sequence[int] = (0,), key: PRNGKeyArray
    ) -> Simulated:
        """Episodes under random torques, each held for `hold` steps; by default only the angle is measured."""
        return simulate(self, episodes=episodes, steps=steps, hold=hold, observed=observed, key=key)
