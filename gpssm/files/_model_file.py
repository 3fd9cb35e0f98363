"""A learnt model as one file: whatever predicts can be saved."""

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from gpssm._core._errors import FileError
from gpssm._core._precision import double_precision
from gpssm.data import Scaler
from gpssm.files._check_model import check_model
from gpssm.files._container import LARGE, Header, read, read_header, write
from gpssm.files._encode import decode, encode, tensors_named
from gpssm.files._place import place
from gpssm.files._tensors import Tensors, nbytes
from gpssm.fitting import Fit
from gpssm.fitting._identity import versions
from gpssm.fitting._record import history_from, history_names, history_to, summary
from gpssm.inference import AbstractRecognition
from gpssm.models import GPSSM
from gpssm.predict import AbstractPredictor, Channels, System

KIND = "model"
# What building an object from parts that do not fit together may raise.
_MISFITS = (TypeError, ValueError, KeyError, IndexError, AttributeError, ZeroDivisionError, OverflowError)


@double_precision
def save(
    model: Fit | AbstractPredictor,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = True,
    settings: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
) -> None:
    """Write a fit, or any model that predicts, with everything needed to use it, and its history.

    `settings` is whatever plain JSON should be remembered with it, such as the seed; `units` gives the units of
    channels by name, where the files that were read did not. Both come back in `describe`, as does the method of a fit.
    How records were read belongs to the model and is kept with it. The file is written beside its final place and then
    renamed: if anything fails, an old file stays as it was. A model with NaN parameters is refused.
    """
    system = model.system if isinstance(model, Fit) else model
    told = dict(settings or {})
    if isinstance(model, Fit):
        told = {"method": str(model.method), "result": model.result.name} | told
    recipe = system.recipe
    units = ({} if recipe is None else recipe.units_by_name) | dict(units or {})
    unknown = set(units) - {*system.output_names, *system.input_names}
    if unknown:
        raise ValueError(f"units are given for '{min(unknown)}', which is neither an output nor an input")
    encoded, tensors = encode(system, "system")
    parameters, history = _count(tensors), None
    if system.history is not None:
        history, more = history_to(system.history)
        tensors |= more
    content = {
        "about": {"kind": type(system).__name__, "parameters": parameters, **system.describe()},
        "output_names": list(system.output_names),
        "input_names": list(system.input_names),
        "dt": system.dt,
        "units": units,
        "recipe": None if recipe is None else recipe.facts(),
        "versions": versions(),
        "settings": told,
        "summary": summary(system.history),
        "history": history,
        "system": encoded,
    }
    write(place(path), KIND, content, tensors, overwrite=overwrite)


@double_precision
def load(path: str | os.PathLike[str]) -> AbstractPredictor:
    """The model that `save` wrote. It predicts the same bits, given the same versions.

    No code from the file is run. A file that is damaged, cut short, put together from two, of an unknown version or of
    an absurd size is refused with a `FileError`.
    """
    header, tensors = read(place(path), KIND, check=partial(_check_needed, path))
    content = header.content
    try:
        system = decode(content["system"], tensors) if "system" in content else _first_version(content, tensors)
        if not isinstance(system, AbstractPredictor):
            raise FileError("the file does not hold a model that predicts")
        check_model(system)
        history = None if content["history"] is None else history_from(content["history"], tensors)
        system = replace(system, history=history)  # pyright: ignore[reportArgumentType]
    except FileError as error:
        raise FileError(f"{path}: {error}") from error
    except _MISFITS as error:
        raise FileError(
            f"{path}: its parts do not fit together ({type(error).__name__}: {str(error)[:200]})"
        ) from error
    return system


def _check_needed(path: str | os.PathLike[str], header: Header) -> None:
    """Refuse gigabytes that no part of the model names before they are read. Little ones may stand there."""
    history = header.content.get("history")
    needed = tensors_named(header.content) | (history_names(history) if isinstance(history, dict) else set())
    unused = sum(nbytes(entry["dtype"], entry["shape"]) for name, entry in header.tensors.items() if name not in needed)
    if unused > LARGE:
        raise FileError(f"{path}: no part of the model needs {unused} of its bytes: the file was not written by gpssm")


def _first_version(content: dict[str, Any], tensors: Tensors) -> System:
    """Files of the time when only state-space systems could be saved."""
    model, recognition = decode(content["model"], tensors), decode(content["recognition"], tensors)
    if not isinstance(model, GPSSM) or not isinstance(recognition, AbstractRecognition | None):
        raise FileError("the file does not hold a model and its network")
    return System(
        model=model,
        scaler=Scaler.from_dict(content["scaler"]),
        channels=Channels(
            _names(content["output_names"]),
            _names(content["input_names"]),
            None if content["dt"] is None else float(content["dt"]),
        ),
        recognition=recognition,
    )


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says of itself, from its header alone.

    Keys: kind, parameters and what the kind of model says of itself, output_names, input_names, dt, units, versions,
    settings, recipe (how the training records were read), history (a summary), events, format_version, bytes.
    """
    header: Header = read_header(place(path), KIND)
    content = header.content
    try:
        history = content["history"]
        return {
            **({} if "system" in content else {"kind": "System"}),
            **content["about"],
            **{name: content[name] for name in ("output_names", "input_names", "dt", "units", "versions", "settings")},
            "recipe": content.get("recipe"),
            "history": content["summary"],
            "events": [] if history is None else history["events"],
            "format_version": header.version,
            "bytes": header.size,
        }
    except _MISFITS as error:
        raise FileError(f"{path}: its header is incomplete ({error})") from error


def _count(tensors: Tensors) -> int:
    """Numbers in all arrays of the model."""
    return sum(int(array.size) for array in tensors.values() if array.dtype.kind == "f")


def _names(names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FileError("the names of the channels are not a list of names")
    return tuple(names)
