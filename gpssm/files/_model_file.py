"""A learnt system as one file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from gpssm._model import GPSSM
from gpssm._precision import double_precision
from gpssm.data import Padded, Scaler
from gpssm.files._container import read, read_header, write
from gpssm.files._encode import decode, encode
from gpssm.files._errors import FileError
from gpssm.files._identity import versions
from gpssm.files._record import history_from, history_to, summary
from gpssm.files._words import count_parameters, inducing_points, kernel_words
from gpssm.predict import Identified
from gpssm.recognition import AbstractRecognition

KIND = "model"
# What building an object from parts that do not fit together may raise.
_MISFITS = (TypeError, ValueError, KeyError, IndexError, AttributeError, ZeroDivisionError, OverflowError)


def save(
    identified: Identified,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = True,
    settings: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
) -> None:
    """Write a learnt system with everything needed to use it: model, scaler, network, names, time step and history.

    `settings` is whatever plain JSON should be remembered with it, such as the seed; `units` gives the units of
    channels by name. Both come back in `describe`. The file is written beside its final place and then renamed: if
    anything fails, an old file stays as it was. A model with NaN parameters is refused.
    """
    units = dict(units or {})
    unknown = set(units) - {*identified.output_names, *identified.input_names}
    if unknown:
        raise ValueError(f"units are given for '{min(unknown)}', which is neither an output nor an input")
    model, tensors = encode(identified.model, "model")
    recognition, more = encode(identified.recognition, "recognition")
    tensors |= more
    history = None
    if identified.history is not None:
        history, more = history_to(identified.history)
        tensors |= more
    transition = identified.model.transition
    content = {
        "about": {
            "states": identified.model.state_dim,
            "transition": type(transition).__name__,
            "kernels": kernel_words(transition),
            "inducing_points": inducing_points(transition),
            "recognition": None if identified.recognition is None else type(identified.recognition).__name__,
            "parameters": count_parameters((identified.model, identified.recognition)),
        },
        "output_names": list(identified.output_names),
        "input_names": list(identified.input_names),
        "dt": identified.dt,
        "units": units,
        "scaler": identified.scaler.to_dict(),
        "versions": versions(),
        "settings": dict(settings or {}),
        "summary": summary(identified.history),
        "history": history,
        "model": model,
        "recognition": recognition,
    }
    write(Path(path), KIND, content, tensors, overwrite=overwrite)


@double_precision
def load(path: str | os.PathLike[str]) -> Identified:
    """The system that `save` wrote. It predicts the same bits, given the same versions.

    No code from the file is run. A file that is damaged, cut short, put together from two, of an unknown version or of
    an absurd size is refused with a `FileError`.
    """
    header, tensors = read(Path(path), KIND)
    content = header.content
    try:
        model, recognition = decode(content["model"], tensors), decode(content["recognition"], tensors)
        if not isinstance(model, GPSSM) or not isinstance(recognition, AbstractRecognition | None):
            raise FileError("the file does not hold a model and its network")
        identified = Identified(
            model=model,
            scaler=Scaler.from_dict(content["scaler"]),
            recognition=recognition,
            output_names=_names(content["output_names"]),
            input_names=_names(content["input_names"]),
            dt=None if content["dt"] is None else float(content["dt"]),
            history=None if content["history"] is None else history_from(content["history"], tensors),
        )
        _check(identified)
    except FileError as error:
        raise FileError(f"{path}: {error}") from error
    except _MISFITS as error:
        raise FileError(
            f"{path}: its parts do not fit together ({type(error).__name__}: {str(error)[:200]})"
        ) from error
    return identified


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says of itself, from its header alone.

    Keys: output_names, input_names, dt, units, states, transition, kernels, inducing_points, recognition, parameters,
    versions, settings, history (a summary), events, format_version, bytes.
    """
    header = read_header(Path(path), KIND)
    content = header.content
    try:
        history = content["history"]
        return {
            **content["about"],
            **{name: content[name] for name in ("output_names", "input_names", "dt", "units", "versions", "settings")},
            "history": content["summary"],
            "events": [] if history is None else history["events"],
            "format_version": header.version,
            "bytes": header.size,
        }
    except _MISFITS as error:
        raise FileError(f"{path}: its header is incomplete ({error})") from error


def _names(names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FileError("the names of the channels are not a list of names")
    return tuple(names)


def _check(identified: Identified) -> None:
    """Everything that a prediction will do is traced once with shapes alone, so that a misfit is found here."""
    model, scaler = identified.model, identified.scaler
    states, outputs, inputs = model.state_dim, len(identified.output_names), len(identified.input_names)
    if (len(scaler.output_mean), len(scaler.input_mean)) != (outputs, inputs) or type(states) is not int or states < 1:
        raise FileError("names, scaler and states do not fit together")
    x, u = jax.ShapeDtypeStruct((states,), np.float64), jax.ShapeDtypeStruct((inputs,), np.float64)

    def one_step(model: GPSSM, x: jax.Array, u: jax.Array):
        mean, variance = model.transition.condition().moments(x, u)
        noises = model.transition.noise_variance(), model.emission.noise_variance()
        return mean, variance, model.emission.mean(x), *noises

    shapes = [leaf.shape for leaf in eqx.filter_eval_shape(one_step, model, x, u)]
    if shapes != [(states,), (states,), (outputs,), (states,), (outputs,)]:
        raise FileError(f"a prediction would have the shapes {shapes}")
    if identified.recognition is not None:
        means = eqx.filter_eval_shape(
            lambda net, e: net.posterior(e).means, identified.recognition, _blank(outputs, inputs)
        )
        if means.shape != (3, states):
            raise FileError(f"the network reads {means.shape[-1]} states and the model has {states}")


def _blank(outputs: int, inputs: int) -> Padded:
    return Padded(
        y=jnp.zeros((3, outputs)),
        u=jnp.zeros((3, inputs)),
        observed=jnp.ones((3, outputs), bool),
        valid=jnp.ones(3, bool),
        index=jnp.zeros((), jnp.int32),
        weight=jnp.ones(()),
    )
