"""Two rods in series with a motor at each joint."""

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
class DoublePendulum(AbstractContinuousSystem):
    """State: angular velocities of the inner and outer rod, then their angles from the upward vertical.

    Both angles are absolute and 0 upright; episodes start hanging down, at pi. Each torque works on the absolute
    angle of its rod. The rods are uniform, with moments of inertia m l^2 / 12.
    """

    inner_mass: float = 0.5
    outer_mass: float = 0.5
    inner_length: float = 0.5
    outer_length: float = 0.5
    gravity: float = 9.82
    action_limit: float = 2.0
    initial_mean: tuple[float, ...] = (0.0, 0.0, 3.141592653589793, 3.141592653589793)
    initial_sd: tuple[float, ...] = (0.1, 0.1, 0.01, 0.01)
    observation_variance: float = 0.01**2
    process_variance: float = 0.0
    dt: float = 0.1
    integrator: AbstractIntegrator = field(default_factory=lambda: RungeKutta4(substeps=400))
    state_names: tuple[str, ...] = ("inner_velocity", "outer_velocity", "inner_angle", "outer_angle")
    action_names: tuple[str, ...] = ("inner_torque", "outer_torque")

    def derivative(self, state: Float[Array, " 4"], action: Float[Array, " 2"]) -> Float[Array, " 4"]:
        w1, w2, angle1, angle2 = state
        m1, m2, l1, l2 = self.inner_mass, self.outer_mass, self.inner_length, self.outer_length
        sine = jnp.sin(angle1 - angle2)
        # Mass matrix [[a, b], [b, c]] times the accelerations equals the generalised torques.
        a = l1**2 * (m1 / 4 + m2) + m1 * l1**2 / 12
        b = m2 * l1 * l2 * jnp.cos(angle1 - angle2) / 2
        c = l2**2 * m2 / 4 + m2 * l2**2 / 12
        torque1 = self.gravity * l1 * jnp.sin(angle1) * (m1 / 2 + m2) - m2 * l1 * l2 * w2**2 * sine / 2 + action[0]
        torque2 = m2 * l2 * (l1 * w1**2 * sine + self.gravity * jnp.sin(angle2)) / 2 + action[1]
        determinant = a * c - b**2
        return jnp.stack([(c * torque1 - b * torque2) / determinant, (a * torque2 - b * torque1) / determinant, w1, w2])

    def tip(self, state: Float[Array, "... 4"]) -> Float[Array, "... 2"]:
        """Horizontal and vertical position of the free end of the outer rod, measured from the fixed joint."""
        angle1, angle2 = state[..., 2], state[..., 3]
        horizontal = -(self.inner_length * jnp.sin(angle1) + self.outer_length * jnp.sin(angle2))
        vertical = self.inner_length * jnp.cos(angle1) + self.outer_length * jnp.cos(angle2)
        return jnp.stack([horizontal, vertical], axis=-1)

    def simulate(
        self,
        *,
        episodes: int = 15,
        steps: int = 30,
        hold: int = 1,
        observed: Sequence[int] = (0, 1, 2, 3),
        key: PRNGKeyArray,
    ) -> Simulated:
        """Episodes under random torques, each held for `hold` steps; leave indices out to hide states."""
        return simulate(self, episodes=episodes, steps=steps, hold=hold, observed=observed, key=key)
