"""A linear-Gaussian system that is known exactly, so that the right verdict is known, too."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

import gpssm
from gpssm import models
from gpssm._core._params import Positive
from gpssm.predict import Channels

A = np.array([[0.9, 0.3], [-0.3, 0.7]])
B = np.array([[0.1], [0.5]])
PROCESS = np.array([0.02, 0.02])
NOISE = np.array([0.05])
LENGTHS = (120, 120, 90)
"""Of the held-out records. Others have these lengths, too, so that what was compiled for one report serves them all."""
CONTEXT = 20
KEY = 3


@dataclass(frozen=True)
class Names:
    """What the channels and the record are called."""

    output: str = "level"
    input: str = "valve"
    record: str = "run"


def system(*, sigma: float = 1.0, names: Names = Names(), history: gpssm.History | None = None) -> gpssm.System:
    """The system itself, with all predicted deviations multiplied by `sigma`: gains do not change, so means do not."""
    model = models.GPSSM(
        transition=models.LinearTransition(
            models.LinearMean(jnp.asarray(A), jnp.asarray(B), jnp.zeros(2)),
            Positive.of(jnp.asarray(PROCESS * sigma**2)),
        ),
        emission=models.LinearGaussian(
            jnp.asarray([[1.0, 0.0]]), jnp.zeros(1), Positive.of(jnp.asarray(NOISE * sigma**2))
        ),
        state_dim=2,
    )
    scaler = gpssm.Scaler(
        output_mean=np.array([10.0]),
        output_scale=np.array([2.0]),
        input_mean=np.array([0.0]),
        input_scale=np.array([1.0]),
    )
    return gpssm.System(model, scaler, Channels((names.output,), (names.input,), 0.1), history=history)


def records(
    lengths: tuple[int, ...] = LENGTHS, *, seed: int = 1, names: Names = Names(), missed: float = 0.0
) -> gpssm.Episodes:
    """Records of the system; `missed` adds a response of the output to the input three steps before."""
    rng = np.random.default_rng(seed)
    episodes = []
    for i, steps in enumerate(lengths):
        u, x, y = rng.standard_normal((steps, 1)), rng.standard_normal(2), np.zeros((steps, 1))
        for t in range(steps):
            y[t] = x[0] + np.sqrt(NOISE[0]) * rng.standard_normal()
            if t >= 3:
                y[t] += missed * u[t - 3, 0]
            x = A @ x + B @ u[t] + np.sqrt(PROCESS) * rng.standard_normal(2)
        episodes.append(
            gpssm.Episode(
                y=10.0 + 2.0 * y,
                u=u,
                dt=0.1,
                name=f"{names.record} {i}",
                output_names=[names.output],
                input_names=[names.input],
            )
        )
    return gpssm.Episodes(episodes)
