"""One training problem as plain arrays, so that every framework starts from the same numbers."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from gpjax.kernels import Matern12, SumKernel

from benchmarks.step import Setting, make
from gpssm._core._params import val
from gpssm.inference import Explicit
from gpssm.models import Batch
from gpssm.optimisers import FullBatch
from gpssm.optimisers._loop import start
from gpssm.optimisers._step import TrainState, run_steps

RATE = 1e-2
"""Learning rate of Adam, the same for all parameters and peers."""
CHUNK = 10
"""Steps in one compiled call of ours, and in one turn of a peer."""


def keys_of(chunk: int) -> jax.Array:
    """The keys of one run of steps."""
    return jr.split(jr.fold_in(jr.key(2), chunk), CHUNK)


def noise_of(key: jax.Array, episodes: int, steps: int, states: int) -> jax.Array:
    """What a training step with this key turns into a path of each episode."""
    keys = jr.split(jr.split(key)[1], episodes)
    return jax.vmap(lambda k: jr.normal(k, (1, steps, states), jnp.float64)[0])(keys)


class Ours:
    """The step that `gpssm.fit` compiles, with plain Adam."""

    def __init__(self, setting: Setting, *, single_precision: bool = False):
        tree, data = make(setting, Explicit(), single_precision=single_precision)
        self.data: Batch = data
        self.optimiser = optax.adam(RATE)
        self.problem, self.state = start(tree, data, self.optimiser, None)

    def run(self, chunk: int) -> np.ndarray:
        """A run of steps; the bound before each of them."""
        state, trace, _ = run_steps(self.problem, self.optimiser, FullBatch(), self.data, self.state, keys_of(chunk))
        self.state: TrainState = jax.block_until_ready(state)
        return np.asarray(trace.total)


def write_problem(setting: Setting, chunks: int, path: Path) -> None:
    """Parameters, data and the noise of `chunks` runs of steps."""
    tree: Any  # the settings are known to have a sparse GP and a recurrent network
    tree, data = make(setting, Explicit())
    model, inference = tree
    transition, network = model.transition, inference.recognition
    parts = [kernel.kernels if isinstance(kernel, SumKernel) else (kernel,) for kernel in transition.kernels]
    arrays = {
        "y": data.y,
        "u": data.u,
        "matern": np.array([isinstance(part, Matern12) for part in parts[0]]),
        "lengthscale": np.stack([[val(part.lengthscale) for part in kernel] for kernel in parts]),
        "variance": np.stack([[val(part.variance) for part in kernel] for kernel in parts]),
        "inducing": transition.inducing,
        "q_mean": transition.q_mean,
        "q_chol": transition.q_chol.raw,
        "process_log_variance": transition.noise.log_value,
        "emission_weight": val(model.emission.weight),
        "emission_offset": val(model.emission.offset),
        "emission_log_variance": model.emission.noise.log_value,
        "first_weight": network.first.weight,
        "first_bias": network.first.bias,
        "rest_weight": network.rest.weight,
        "rest_bias": network.rest.bias,
        "skip": network.skip,
    }
    for name, cell in (("forward", network.forward), ("backward", network.backward)):
        arrays |= {f"{name}_{field.name}": getattr(cell, field.name) for field in dataclasses.fields(cell)}
    make_noise: Callable = jax.jit(jax.vmap(lambda key: noise_of(key, setting.episodes, setting.steps, setting.states)))
    arrays["noise"] = np.stack([make_noise(keys_of(chunk)) for chunk in range(chunks)])
    np.savez(path, **{name: np.asarray(value) for name, value in arrays.items()})  # pyright: ignore[reportArgumentType]
