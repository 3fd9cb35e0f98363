"""`fit`: train a model and an inference that the caller has put together."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import optax
from jaxtyping import DTypeLike, PRNGKeyArray

from gpssm._devices import Devices
from gpssm._history import History
from gpssm._model import GPSSM
from gpssm._params import cast
from gpssm._precision import double_precision
from gpssm._result import Result
from gpssm.data import Episodes, Scaler
from gpssm.files import AnyRun, Checkpoints
from gpssm.files._identity import describe_fit, digest_tree
from gpssm.files._shared_run import Follower, Leader
from gpssm.fit import AbstractBatches, Plateau, Progress, Recorder, Trained, prepare, train
from gpssm.fit._problem import Freeze
from gpssm.inference import Variational
from gpssm.predict import Identified
from gpssm.recognition import AbstractRecognition, FreeStates


@dataclass(frozen=True)
class FitResult:
    """What `fit` returns: the system ready for use, the trained inference, the record of training and how it ended."""

    identified: Identified
    inference: Variational
    history: History
    result: Result


@double_precision
def fit(
    model: GPSSM,
    inference: Variational,
    episodes: Episodes,
    *,
    scaler: Scaler | None = None,
    optimiser: optax.GradientTransformation | None = None,
    steps: int = 2000,
    batches: AbstractBatches | None = None,
    freeze: Freeze | None = None,
    stop: Plateau | None = None,
    held_out: Episodes | None = None,
    progress: Progress | None = None,
    throw: bool = False,
    dtype: DTypeLike = np.float64,
    checkpoints: Checkpoints | None = None,
    devices: Devices | None = None,
    key: PRNGKeyArray,
) -> FitResult:
    """Train a model on episodes by stochastic gradients (Adam unless told otherwise).

    Data are scaled here with the statistics of the training episodes, as in `GPSSM.from_data`. `freeze` names what to
    hold. `held_out` episodes are watched and shown but never trained on. With `checkpoints` a broken fit goes on where
    it was when the same call is made again. An optimiser or a `freeze` of your own is a function, which cannot be
    compared: give the same one. `devices` share the episodes of a step among them, also over several processes (see
    `gpssm.distributed`).
    """
    scaler = Scaler.from_episodes(episodes) if scaler is None else scaler
    settings = {
        "steps": steps,
        "batches": batches,
        "stop": stop,
        "optimiser": "default" if optimiser is None else "your own",
        "freeze": "nothing" if freeze is None else "your own",
        "dtype": np.dtype(dtype),
        "scaler": scaler.to_dict(),
    }
    with opened(checkpoints, episodes, held_out, key, settings, (model, inference), devices) as run:
        return fit_recorded(
            model,
            inference,
            episodes,
            scaler=scaler,
            dtype=dtype,
            run=run,
            optimiser=optimiser,
            steps=steps,
            batches=batches,
            freeze=freeze,
            stop=stop,
            held_out=held_out,
            progress=progress,
            throw=throw,
            devices=devices,
            key=key,
        )


def fit_recorded(
    model: GPSSM,
    inference: Variational,
    episodes: Episodes,
    *,
    scaler: Scaler,
    dtype: DTypeLike,
    run: AnyRun | None,
    held_out: Episodes | None,
    **options: Any,
) -> FitResult:
    """`fit` as the first stage of a run that may have checkpoints."""
    trained = train(
        *prepare(model, inference, dtype),
        scaler.apply(episodes).padded(dtype=dtype),
        held_out=None if held_out is None else scaler.apply(held_out).padded(dtype=dtype),
        recorder=recorder_of(run, "1-fit"),
        **options,
    )
    return result_of(trained, episodes, scaler)


@contextmanager
def opened(
    checkpoints: Checkpoints | None,
    episodes: Episodes,
    held_out: Episodes | None,
    key: PRNGKeyArray,
    settings: dict[str, Any],
    start: tuple[GPSSM, Variational],
    devices: Devices | None = None,
) -> Iterator[AnyRun | None]:
    """The folder of checkpoints, if there is to be one. Of several processes the first holds it."""
    if checkpoints is None:
        yield None
    elif devices is not None and not devices.is_first:
        yield Follower(checkpoints)
    else:
        settings |= {"model at the start (with its kernel)": digest_tree(start[0]), "inference": digest_tree(start[1])}
        identity = describe_fit(episodes=episodes, held_out=held_out, key=key, settings=settings)
        with checkpoints.open(identity) as run:
            yield run if devices is None or devices.num_processes == 1 else Leader(run)


def recorder_of(run: AnyRun | None, stage: str) -> Recorder | None:
    """What records a stage, if the run is recorded."""
    return None if run is None else Recorder(run, stage)


def result_of(trained: Trained, episodes: Episodes, scaler: Scaler) -> FitResult:
    """The system in the user's units, and what it came from."""
    recognition = trained.inference.recognition
    # Free states know the training episodes only.
    network = None if isinstance(recognition, FreeStates) else recognition
    identified = identified_of(trained.model, network, episodes, scaler, trained.history)
    return FitResult(identified, trained.inference, trained.history, trained.result)


def identified_of(
    model: GPSSM, recognition: AbstractRecognition | None, episodes: Episodes, scaler: Scaler, history: History
) -> Identified:
    """A model with everything needed to use it."""
    model, recognition = cast((model, recognition), np.float64)
    return Identified(
        model=model,
        scaler=scaler,
        recognition=recognition,
        output_names=episodes.output_names,
        input_names=episodes.input_names,
        dt=episodes.dt,
        history=history,
    )
