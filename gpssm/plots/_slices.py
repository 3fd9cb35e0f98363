"""The learnt transition function along one variable at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm._core._compile import compile_by_work
from gpssm._core._precision import double_precision
from gpssm.data import Episodes
from gpssm.models._gpssm import GPSSM
from gpssm.models.transition import SparseGP
from gpssm.predict import System

POINTS = 80
HELD = (0.1, 0.5, 0.9)
"""Quantiles of the inputs at which the curves of a one-state model are drawn."""


@final
@dataclass(frozen=True, eq=False)
class TransitionSlice:
    """One state's next value while one variable moves and the others rest; states in the model's own units."""

    state: int
    along: str
    """Name of the variable that moves."""
    moves_itself: bool
    """Whether that variable is this state."""
    held: str
    """What the other variables are, in words."""
    values: Float[np.ndarray, " N"]
    mean: Float[np.ndarray, " N"]
    """Next state; for slices of a model with several states, its change."""
    std: Float[np.ndarray, " N"]
    """Uncertainty about the function; process noise not included."""
    is_change: bool
    inducing: Float[np.ndarray, " M"]
    """Inducing inputs along this variable (none for a model without)."""
    inducing_mean: Float[np.ndarray, " M"] | None
    """The function's mean there, where the slice passes through all of them."""
    visited: Float[np.ndarray, " K"]
    """Where the states have been along this variable."""
    process_std: float


@double_precision
def transition_slices(system: System, episodes: Episodes) -> tuple[TransitionSlice, ...]:
    """Curves of a model with one state, else slices of each state's change through the middle of the visited region.

    The region is where the smoothed states and the inputs of the episodes have been.
    """
    scaler, size = system.scaler, system.model.state_dim
    states = np.concatenate([system.smooth(episode).means for episode in episodes])
    inputs = np.concatenate([episode.u for episode in episodes])
    visited = np.concatenate([states, scaler.apply_inputs(inputs)], axis=1)
    names = (*(f"state {d + 1}" for d in range(size)), *system.input_names)
    middles = [np.median(visited, axis=0)]
    if size == 1 and system.input_names:
        middles = [np.quantile(visited, level, axis=0) for level in HELD]
    noise = np.sqrt(np.asarray(system.model.transition.noise_variance()))
    inducing = _inducing_inputs(system.model)
    slices = []
    for axis in range(1) if size == 1 else range(visited.shape[1]):
        for middle in middles:
            grid = np.tile(middle, (POINTS, 1))
            grid[:, axis] = _range_of(visited[:, axis])
            means, variances = _moments(system.model, grid)
            for d in range(size):
                own = np.zeros(0) if inducing is None else inducing[d % len(inducing)]
                through = None
                if visited.shape[1] == 1 and len(own):
                    through = _moments(system.model, own)[0][:, d]
                slices.append(
                    TransitionSlice(
                        state=d,
                        along=names[axis],
                        moves_itself=axis == d,
                        held=_held(names, middle, axis, system),
                        values=_in_user_units(grid[:, axis], axis, system),
                        mean=means[:, d] - (grid[:, d] if size > 1 else 0.0),
                        std=np.sqrt(np.maximum(variances[:, d], 0.0)),
                        is_change=size > 1,
                        inducing=_in_user_units(own[:, axis], axis, system) if len(own) else np.zeros(0),
                        inducing_mean=through,
                        visited=_in_user_units(visited[:, axis], axis, system),
                        process_std=float(noise[d]),
                    )
                )
    return tuple(slices)


def _inducing_inputs(model: GPSSM) -> np.ndarray | None:
    """One set for each state dimension, or one for all."""
    if not isinstance(model.transition, SparseGP):
        return None
    inducing = np.asarray(model.transition.inducing)
    return inducing if inducing.ndim == 3 else inducing[None]


def _range_of(values: np.ndarray) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    margin = 0.1 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, POINTS)


def _in_user_units(values: np.ndarray, axis: int, system: System) -> np.ndarray:
    channel = axis - system.model.state_dim
    if channel < 0:
        return values
    return values * system.scaler.input_scale[channel] + system.scaler.input_mean[channel]


def _held(names: tuple[str, ...], middle: np.ndarray, axis: int, system: System) -> str:
    others = [i for i in range(len(names)) if i != axis]
    return ", ".join(f"{names[i]} = {_in_user_units(middle[i : i + 1], i, system)[0]:.3g}" for i in others)


def _moments(model: GPSSM, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, u = jnp.asarray(points[:, : model.state_dim]), jnp.asarray(points[:, model.state_dim :])
    mean, variance = _compiled_moments(model, x, u)
    return np.asarray(mean), np.asarray(variance)


@compile_by_work(lambda model, x, u: x.shape[0])
def _compiled_moments(
    model: GPSSM, x: Float[Array, "N D"], u: Float[Array, "N P"]
) -> tuple[Float[Array, "N D"], Float[Array, "N D"]]:
    return jax.vmap(model.transition.condition().moments)(x, u)
