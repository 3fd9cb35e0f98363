"""A cart on a track carrying a freely swinging rod."""

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
class CartPole(AbstractContinuousSystem):
    """State: cart position, cart velocity, angular velocity, angle of the rod; the rod hangs down at angle 0.

    A horizontal force acts on the cart. The rod is uniform, so its moment of inertia is m l^2 / 12.
    """

    cart_mass: float = 0.5
    rod_mass: float = 0.5
    length: float = 0.5
    friction: float = 0.1
    gravity: float = 9.82
    action_limit: float = 10.0
    initial_mean: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    initial_sd: tuple[float, ...] = (0.1, 0.1, 0.1, 0.1)
    observation_variance: float = 0.01**2
    process_variance: float = 0.0
    dt: float = 0.1
    integrator: AbstractIntegrator = field(default_factory=lambda: RungeKutta4(substeps=200))
    state_names: tuple[str, ...] = ("position", "velocity", "angular_velocity", "angle")
    action_names: tuple[str, ...] = ("force",)

    def derivative(self, state: Float[Array, " 4"], action: Float[Array, " 1"]) -> Float[Array, " 4"]:
        _, velocity, spin, angle = state
        sine, cosine = jnp.sin(angle), jnp.cos(angle)
        force = action[0] - self.friction * velocity
        total = self.cart_mass + self.rod_mass
        reach = self.rod_mass * self.length
        denominator = 4.0 * total - 3.0 * self.rod_mass * cosine**2
        acceleration = (
            2.0 * reach * spin**2 * sine + 3.0 * self.rod_mass * self.gravity * sine * cosine + 4.0 * force
        ) / denominator
        angular_acceleration = (
            -3.0 * reach * spin**2 * sine * cosine - 6.0 * total * self.gravity * sine - 6.0 * force * cosine
        ) / (self.length * denominator)
        return jnp.stack([velocity, acceleration, angular_acceleration, spin])

    def tip(self, state: Float[Array, "... 4"]) -> Float[Array, "... 2"]:
        """Horizontal and vertical position of the free end of the rod, measured from the middle of the track."""
        position, angle = state[..., 0], state[..., 3]
        return jnp.stack([position + self.length * jnp.sin(angle), -self.length * jnp.cos(angle)], axis=-1)

    def simulate(
        self,
        *,
        episodes: int = 16,
        steps: int = 40,
        hold: int = 1,
        observed: Sequence[int] = (0, 1, 2, 3),
        key: PRNGKeyArray,
    ) -> Simulated:
        """Episodes under random forces, each held for `hold` steps; leave indices out to hide states."""
        return simulate(self, episodes=episodes, steps=steps, hold=hold, observed=observed, key=key)
