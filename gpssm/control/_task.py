"""What is to be learnt: a system, what the controller and the model see of it, and what counts as success."""

from dataclasses import dataclass, replace
from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float

from gpssm.systems import AbstractContinuousSystem, CartPole, DoublePendulum


@final
@dataclass(frozen=True)
class Task:
    """Bring the tip of a pendulum to a target and keep it there.

    The *features* of a state are the state itself followed by sine and cosine of each angle. The tip is linear in
    them, which is what makes the expected cost available in closed form. A trial is solved if the tip stays within
    `solved_distance` of the target during the last `solved_steps` steps.
    """

    system: AbstractContinuousSystem
    angles: tuple[int, ...]
    feature_inputs: tuple[int, ...]  # the features that model and policy see
    tip_rows: tuple[tuple[float, ...], ...]
    target: tuple[float, ...]
    cost_width: float
    steps: int
    num_trials: int
    num_centres: int
    policy_lengthscales: tuple[float, ...]  # initial values
    policy_spread: tuple[float, ...]  # of initial centres: they must reach where no trial has been yet, the target
    solved_distance: float
    solved_steps: int = 10
    num_points: int = 120
    num_candidates: int = 40
    num_fresh_starts: int = 3  # of the candidates, how many are optimised
    max_iterations: int = 150
    more_iterations: int = 0  # for the best of all starts, after those

    def features(self, state: Float[Array, " D"]) -> Float[Array, " F"]:
        """A state with sine and cosine of its angles appended."""
        angle = state[jnp.asarray(self.angles)]
        return jnp.concatenate([state, jnp.stack([jnp.sin(angle), jnp.cos(angle)], axis=1).reshape(-1)])


def cart_pole_swing_up() -> Task:
    """Swing the rod up and balance it over the middle of the track."""
    system = CartPole()
    length = system.length
    return Task(
        system=system,
        angles=(3,),
        feature_inputs=(0, 1, 2, 4, 5),
        tip_rows=((1.0, 0.0, 0.0, 0.0, length, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, -length)),
        target=(0.0, length),
        cost_width=0.25,
        steps=40,
        num_trials=16,
        num_centres=10,
        policy_lengthscales=(1.0, 1.0, 1.0, 0.7, 0.7),
        policy_spread=(1.0, 2.0, 4.0, 0.7, 0.7),
        solved_distance=0.1,
    )


def double_pendulum_swing_up() -> Task:
    """Swing both rods up and balance them."""
    system = DoublePendulum()
    inner, outer = system.inner_length, system.outer_length
    return Task(
        system=system,
        angles=(2, 3),
        feature_inputs=(0, 1, 4, 5, 6, 7),
        tip_rows=((0.0, 0.0, 0.0, 0.0, -inner, 0.0, -outer, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, inner, 0.0, outer)),
        target=(0.0, inner + outer),
        cost_width=0.5,
        steps=30,
        num_trials=15,
        num_centres=100,
        policy_lengthscales=(1.0, 1.0, 0.7, 0.7, 0.7, 0.7),
        policy_spread=(4.0, 6.0, 0.7, 0.7, 0.7, 0.7),
        solved_distance=0.2,
        num_points=160,
        # A policy of 100 centres is far from its optimum after the iterations that tell starts apart.
        max_iterations=40,
        more_iterations=400,
    )


def quick_version(task: Task) -> Task:
    """The same task with few short trials and hardly any optimisation: it runs in seconds and solves nothing."""
    return replace(
        task,
        steps=8,
        num_trials=3,
        num_centres=5,
        solved_steps=2,
        num_points=16,
        num_candidates=2,
        num_fresh_starts=1,
        max_iterations=2,
        more_iterations=0,
    )
