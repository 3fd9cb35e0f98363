"""Where an output-error fit starts: the linear system, of several, whose own free run is best."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import jax
import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Float

from gpssm._core._params import Positive
from gpssm.data import DataError, Episode, Episodes, Scaler
from gpssm.methods.linear._start import linear_starts
from gpssm.models._subspace import interpolated
from gpssm.models.emission import AbstractEmission, LinearGaussian, Magnitude
from gpssm.predict import LinearSystem

MAX_RADIUS = 0.995
"""Largest absolute eigenvalue to start from: a free run of an integrator drifts away before anything is learnt."""
DOUBT = 0.1
"""Ridge on the first state, in units of the output's variance."""
POLES = (0.5, 0.8, 0.9, 0.95)
"""Low-pass filters by which an input may tell the sign of an output that is measured without."""
PASSES = 8
"""How often the sign is guessed."""


@final
@dataclass(frozen=True)
class Start:
    """A linear system in coordinates in which the states it visits have zero mean and unit covariance."""

    system: LinearSystem
    states: tuple[Float[np.ndarray, "_ D"], ...]
    """Of each episode."""
    emission: AbstractEmission


def signed_start(scaled: Episodes, scaler: Scaler, order: int) -> Start:
    """y = weight x + offset, the usual case: from subspace identification and autoregressions."""
    system, states, _ = _best(scaled, order)
    weight, offset, log_noise = jax.device_put((system.C, system.b, np.log(system.R)))
    return Start(system, states, LinearGaussian(weight, offset, Positive(log_noise)))


def unsigned_start(scaled: Episodes, scaler: Scaler, order: int) -> Start:
    """y = |weight x + offset|: the sensor shows magnitudes, zero being zero in the user's units.

    The sign is guessed from each input, low-passed in several ways. A linear system is identified with the sign, the
    sign of its own free run is the next guess, and so on; the system whose magnitudes are closest is the start.
    """
    if scaled.num_inputs == 0:
        raise DataError("the sign of outputs that are measured without it is guessed from inputs, of which none is")
    floor = -scaler.undo_mean(np.zeros(scaled.num_outputs)) / scaler.undo_std(np.ones(scaled.num_outputs))
    magnitudes = [episode.y - floor for episode in scaled]
    found = []
    for pole in POLES:
        for channel in range(scaled.num_inputs):
            signs = [np.tile(_low_pass(e.u[:, channel], pole)[:, None], e.num_outputs) for e in scaled]
            for _ in range(PASSES):
                system, states, _ = _best(_with_signs(scaled, magnitudes, signs), order)
                signs = [x @ system.C.T + system.b for x in states]
                misses = [
                    np.where(e.observed, np.abs(s) - m, 0.0) for e, s, m in zip(scaled, signs, magnitudes, strict=True)
                ]
                found.append((float(sum((miss**2).sum() for miss in misses)), system, states))
    _, system, states = min(found, key=lambda trial: trial[0])
    emission = Magnitude(
        jnp.asarray(system.C),
        jnp.asarray(system.b),
        paramax.non_trainable(jnp.asarray(floor)),
        Positive.of(jnp.asarray(system.R)),
    )
    return Start(system, states, emission)


STARTS: dict[type[AbstractEmission], Callable[[Episodes, Scaler, int], Start]] = {
    LinearGaussian: signed_start,
    Magnitude: unsigned_start,
}
"""How a fit starts with each kind of emission."""


def _low_pass(values: Float[np.ndarray, " T"], pole: float) -> Float[np.ndarray, " T"]:
    slow, past = np.zeros(len(values)), values[0]
    for t, now in enumerate(values):
        slow[t] = past
        past = pole * past + (1.0 - pole) * now
    return slow


def _with_signs(scaled: Episodes, magnitudes: list[np.ndarray], signs: list[np.ndarray]) -> Episodes:
    return Episodes(
        [
            Episode(y=np.where(s < 0.0, -m, m), u=e.u, mask=e.observed, dt=e.dt, name=e.name)
            for e, m, s in zip(scaled, magnitudes, signs, strict=True)
        ]
    )


def _best(scaled: Episodes, order: int) -> tuple[LinearSystem, tuple[np.ndarray, ...], float]:
    """Of the linear systems that regressions give, the one whose free runs, each from its best first state, are
    closest to the outputs."""
    trials = []
    for system in linear_starts(scaled, order, max_radius=MAX_RADIUS):
        with np.errstate(all="ignore"):
            runs = [_free_run(system, episode) for episode in scaled]
        error = sum(squares for _, squares in runs)
        if np.isfinite(error):
            trials.append((error, system, [states for states, _ in runs]))
    if not trials:
        raise DataError(f"no linear model with {order} states can be started from {scaled.num_steps} steps")
    error, system, states = min(trials, key=lambda trial: trial[0])
    return *_whitened(system, states), error


def _free_run(system: LinearSystem, episode: Episode) -> tuple[Float[np.ndarray, "T D"], float]:
    forced, powers = _responses(system.A, system.B, system.c, episode)
    first = _first(forced, powers, system.C, system.b, episode)
    states = forced + powers @ first
    return states, float(((interpolated(episode) - states @ system.C.T - system.b) ** 2).sum())


def first_state(
    A: Float[np.ndarray, "D D"],
    B: Float[np.ndarray, "D P"],
    c: Float[np.ndarray, " D"],
    C: Float[np.ndarray, "O D"],
    b: Float[np.ndarray, " O"],
    episode: Episode,
) -> Float[np.ndarray, " D"]:
    """The first state from which the free run of a linear system is closest to the outputs."""
    return _first(*_responses(A, B, c, episode), C, b, episode)


def _responses(A: np.ndarray, B: np.ndarray, c: np.ndarray, episode: Episode) -> tuple[np.ndarray, np.ndarray]:
    """States of a free run from zero, and how those of another depend on its first state."""
    steps, order = len(episode), len(c)
    forced, powers = np.zeros((steps, order)), np.zeros((steps, order, order))
    powers[0] = np.eye(order)
    for t in range(1, steps):
        forced[t] = A @ forced[t - 1] + B @ episode.u[t - 1] + c
        powers[t] = A @ powers[t - 1]
    return forced, powers


def _first(forced: np.ndarray, powers: np.ndarray, C: np.ndarray, b: np.ndarray, episode: Episode) -> np.ndarray:
    left = (interpolated(episode) - forced @ C.T - b).ravel()
    by_start = np.einsum("oi,tij->toj", C, powers).reshape(left.size, -1)
    return np.linalg.solve(by_start.T @ by_start + DOUBT * np.eye(len(powers[0])), by_start.T @ left)


def _whitened(system: LinearSystem, states: list[np.ndarray]) -> tuple[LinearSystem, tuple[np.ndarray, ...]]:
    visited = np.concatenate(states)
    centre = visited.mean(axis=0)
    covariance = np.cov(visited.T).reshape(len(centre), -1)
    root = np.linalg.cholesky(covariance + 1e-6 * np.trace(covariance) * np.eye(len(centre)))
    back = np.linalg.inv(root)
    moved = replace(
        system,
        A=back @ system.A @ root,
        B=back @ system.B,
        c=back @ (system.A @ centre + system.c - centre),
        C=system.C @ root,
        b=system.b + system.C @ centre,
    )
    return moved, tuple((x - centre) @ back.T for x in states)
