"""What somebody who can make right digests might put into the content of a model file.

Each entry changes the content in place, or returns the text of a content of its own.
"""

import copy
from collections.abc import Callable
from typing import Any


def _transition(content: dict[str, Any]) -> dict[str, Any]:
    return content["system"]["fields"]["model"]["fields"]["transition"]


def _class(name: str) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        _transition(content)["class"] = name

    return change


def _field(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        _transition(content)["fields"][name] = value

    return change


def _part(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["system"]["fields"][name] = value

    return change


def _channel(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["system"]["fields"]["channels"]["fields"][name] = value

    return change


def _without_part(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["system"]["fields"].pop(name) and None


def _mixture(
    *changes: Callable[[dict[str, Any]], Any], count: int = 2, depth: int = 1, **fields: Any
) -> Callable[[dict[str, Any]], None]:
    """The model as a member of a mixture: the last member is changed, and the mixture has these fields."""

    def change(content: dict[str, Any]) -> None:
        for _ in range(depth):
            good = content["system"]
            other = {"system": copy.deepcopy(good)}
            for each in changes:
                each(other)
            parts = [good] * (count - 1) + [other["system"]] if count else []
            held = {"members": {"tuple": parts}, "weights": None, "width": 1.0} | fields
            content["system"] = {"class": "gpssm.MixturePredictor", "fields": held}

    return change


def _top(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content[name] = value

    return change


def _without(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda content: content.pop(name) and None


def _deep(levels: int) -> Callable[[dict[str, Any]], str | None]:
    return lambda content: '{"system": ' + '{"tuple": [' * levels + "]}" * levels + "}"


def _scaler(**fields: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["system"]["fields"]["scaler"]["fields"].update(fields)

    return change


def _history(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["history"][name] = value

    return change


def _kernel(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        _transition(content)["fields"]["kernels"]["tuple"][0]["fields"][name] = value

    return change


def _network(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["system"]["fields"]["recognition"]["fields"][name] = value

    return change


def _positive(value: Any) -> dict[str, Any]:
    return {"class": "gpjax.parameters.PositiveReal", "fields": {"_unconstrained": value}}


# Tensors of the sound file: a zero, and two numbers.
_ZERO = {"tensor": "system.model.emission.offset.tree"}
_TWO = {"tensor": "system.recognition.first.bias"}

CHANGES: dict[str, Callable[[dict[str, Any]], str | None]] = {
    "a function of the system": _class("os.system"),
    "eval": _class("builtins.eval"),
    "a path to import": _class("__import__('os')"),
    "a class of Python": _class("collections.OrderedDict"),
    "a class of gpssm that is no part of a model": _class("gpssm.Checkpoints"),
    "a private class": _class("gpssm.files._lock.Lock"),
    "a class that is no name": _class(["gpssm.SparseGP"]),  # type: ignore[arg-type]
    "another class of the table": _class("gpssm.GRU"),
    "a special attribute": _field("__class__", "GPSSM"),
    "the dictionary of an object": _field("__dict__", {"tuple": []}),
    "a method": _field("condition", 1),
    "a tensor as a static field": _field("whitened", {"tensor": "system.model.transition.q_mean"}),
    "a number as a tensor": _field("q_mean", 3),
    "text as a tensor": _field("inducing", "import os"),
    "another tensor": _field("inducing", {"tensor": "system.model.transition.q_mean"}),
    "a tensor of the wrong shape": _field("q_mean", {"tensor": "system.model.transition.q_chol.raw"}),
    "a tensor that is not there": _field("q_mean", {"tensor": "../../etc/passwd"}),
    "too many kernels": _field("kernels", {"tuple": [None, None, None]}),
    "no kernels": _field("kernels", {"tuple": []}),
    "a list without a name": _field("kernels", [1, 2]),
    "a kernel that is none": _field("kernels", {"tuple": [{"class": "gpssm.KeepState", "fields": {}}]}),
    "two meanings at once": _field("mean", {"class": "gpssm.KeepState", "fields": {}, "tuple": []}),
    "an engine that is not known": _field("mean", {"engine": "subprocess"}),
    "a model without parts": _part("model", {"class": "gpssm.GPSSM", "fields": {}}),
    "a model that is a kernel": _part("model", {"class": "gpssm.KeepState", "fields": {}}),
    "a model that is text": _part("model", "cos\nsystem\n(S'true'\ntR."),
    "a network that is a number": _part("recognition", 7),
    "no model": _without_part("model"),
    "no system": _without("system"),
    "no scaler": _without_part("scaler"),
    "a scaler of zero": _scaler(output_scale=_ZERO),
    "a scaler for other channels": _scaler(output_mean=_TWO),
    "a scaler that is no number": _scaler(output_scale={"list": ["one"]}),
    "a scaler that is a list": _scaler(output_scale={"list": [1.0]}),
    "a lengthscale that is a number": _kernel("lengthscale", 1e308),
    "a variance that is negative": _kernel("variance", -1),
    "a variance that is zero": _kernel("variance", 0.0),
    "a lengthscale held as a number": _kernel("lengthscale", _positive(1.0)),
    "a lengthscale that is a truth": _kernel("lengthscale", _positive(True)),
    "a number that is held fixed": _kernel("variance", {"class": "paramax.NonTrainable", "fields": {"tree": 2.0}}),
    "an engine that is empty": _kernel("compute_engine", ""),
    "an engine that is a number": _kernel("compute_engine", 7),
    "dimensions that are text": _kernel("n_dims", "two"),
    "noise that is a number": _field("noise", 0.0),
    "a truth that is a number": _field("whitened", 7),
    "a network with text for a truth": _network("diagonal", "x"),
    "a network whose states are half": _network("state_dim", 1.0),
    "names that are numbers": _channel("output_names", {"tuple": [1]}),
    "too many names": _channel("output_names", {"tuple": ["a", "b"]}),
    "names that are text": _channel("input_names", "valve"),
    "a time step that is text": _channel("dt", "soon"),
    "a time step that is negative": _channel("dt", -1.0),
    "channels that are none": _part("channels", None),
    "a mixture of nothing": _mixture(count=0),
    "a mixture of numbers": _mixture(members={"tuple": [1, 2]}),
    "a mixture with a share for one": _mixture(weights={"tuple": [1.0]}),
    "a mixture with negative shares": _mixture(weights={"tuple": [2.0, -1.0]}),
    "a mixture with text for shares": _mixture(weights={"tuple": ["much", "little"]}),
    "a mixture without width": _mixture(width=0.0),
    "a mixture whose width is text": _mixture(width="wide"),
    "a mixture of other channels": _mixture(_channel("output_names", {"tuple": ["pressure"]})),
    "a mixture with a broken member": _mixture(_part("model", None)),
    "mixtures within each other, forty deep": _mixture(count=1, depth=40),
    "a history that is a list": _top("history", []),
    "a history without its arrays": _top("history", {"num_steps": 1}),
    "a history of minus one second": _history("seconds", -1),
    "a history of text for seconds": _history("seconds", "nan"),
    "a history of no steps": _history("num_steps", 0),
    "a history whose steps are a truth": _history("num_steps", True),
    "a history averaged over text": _history("averaged", "7"),
    "a history averaged over half a step": _history("averaged", 1.5),
    "a history of numbers for events": _history("events", [1]),
    "a history of text for events": _history("events", "x"),
    "a history whose arrays are text": _history("arrays", "bound"),
    "nesting of a hundred": _deep(100),
    "nesting of a hundred thousand": _deep(100_000),
}
