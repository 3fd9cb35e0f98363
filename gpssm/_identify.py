"""`identify`, for those in a hurry; the other public ways to learn a system are `fit`, `refine` and `fit_free`."""

from collections.abc import Sequence

import jax.random as jr
import numpy as np
from gpjax.kernels import AbstractKernel
from jaxtyping import PRNGKeyArray

from gpssm._devices import Devices
from gpssm._fit import FitResult, fit, fit_recorded, opened
from gpssm._model import GPSSM
from gpssm._precision import double_precision
from gpssm._refine import fit_free, refine, refine_recorded
from gpssm._result import Result
from gpssm.data import Episodes, Scaler
from gpssm.files import Checkpoints
from gpssm.fit import Console, Progress, Silent, Windows
from gpssm.inference import Collapsed, NaturalGradient, Paths, Variational
from gpssm.predict import Identified
from gpssm.recognition import BiRNN

__all__ = ["FitResult", "fit", "fit_free", "identify", "refine"]

LONG = 20_000
"""From this many time steps on, `identify` trains on windows instead of all data at once."""


@double_precision
def identify(
    episodes: Episodes,
    *,
    states: int,
    kernel: AbstractKernel | Sequence[AbstractKernel] | None = None,
    num_inducing: int = 50,
    hidden: int = 32,
    steps: int = 800,
    iterations: int = 150,
    network_steps: int = 400,
    held_out: Episodes | None = None,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
    devices: Devices | None = None,
    key: PRNGKeyArray | None = None,
) -> Identified:
    """Learn a system from episodes and choose sensible everything.

    A recognition network and the model are trained together with q(u) at its optimum, then all states are polished
    without the network; the same from states guessed from the data, and the better of the two is kept. Records with
    more than 20 000 steps in all are trained on windows instead. Progress goes to the console unless told otherwise;
    the default key is `jax.random.key(0)`, so that two calls give the same model.

    With `checkpoints` a fit that was broken off, in whatever way, goes on when the same call is made again, and ends
    with the same bits. Steps of Adam go on from the last checkpoint; the polish by L-BFGS is deterministic and starts
    again at its beginning. `devices` share the episodes among them, also over several processes (see
    `gpssm.distributed`).
    """
    speaks = devices is None or devices.is_first
    progress = Silent() if not speaks else Console() if progress is None else progress
    key = jr.key(0) if key is None else key
    model_key, network_key, fit_key, refine_key = jr.split(key, 4)
    model = GPSSM.from_data(episodes, state_dim=states, kernel=kernel, num_inducing=num_inducing, key=model_key)
    network = BiRNN.from_data(episodes, state_dim=states, hidden=hidden, key=network_key)
    long = episodes.num_steps > LONG
    inference = Variational(network, NaturalGradient(0.1) if long else Collapsed(), Paths(1))
    settings = {
        "states": states,
        "num_inducing": num_inducing,
        "hidden": hidden,
        "steps": steps,
        "iterations": iterations,
        "network_steps": network_steps,
    }
    with opened(checkpoints, episodes, held_out, key, settings, (model, inference), devices) as run:
        fitted = fit_recorded(
            model,
            inference,
            episodes,
            scaler=Scaler.from_episodes(episodes),
            dtype=np.float64,
            run=run,
            steps=steps,
            batches=Windows(length=min(200, episodes.max_length), size=8) if long else None,
            held_out=held_out,
            progress=progress,
            devices=devices,
            key=fit_key,
        )
        if long or iterations == 0 or fitted.result is Result.interrupted:
            return fitted.identified
        refined = refine_recorded(
            fitted,
            episodes,
            iterations=iterations,
            network_steps=network_steps,
            progress=progress,
            run=run,
            untrained=model,
            devices=devices,
            key=refine_key,
        )
    return refined.identified
