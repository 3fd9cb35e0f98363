"""What somebody who can make right digests might put into the content of a model file.

Each entry changes the content in place, or returns the text of a content of its own.
"""

from collections.abc import Callable
from typing import Any


def _transition(content: dict[str, Any]) -> dict[str, Any]:
    return content["model"]["fields"]["transition"]


def _class(name: str) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        _transition(content)["class"] = name

    return change


def _field(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        _transition(content)["fields"][name] = value

    return change


def _top(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content[name] = value

    return change


def _without(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda content: content.pop(name) and None


def _deep(levels: int) -> Callable[[dict[str, Any]], str | None]:
    return lambda content: '{"model": ' + '{"tuple": [' * levels + "]}" * levels + "}"


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
    "a tensor as a static field": _field("whitened", {"tensor": "model.transition.q_mean"}),
    "a number as a tensor": _field("q_mean", 3),
    "text as a tensor": _field("inducing", "import os"),
    "another tensor": _field("inducing", {"tensor": "model.transition.q_mean"}),
    "a tensor of the wrong shape": _field("q_mean", {"tensor": "model.transition.q_chol.raw"}),
    "a tensor that is not there": _field("q_mean", {"tensor": "../../etc/passwd"}),
    "too many kernels": _field("kernels", {"tuple": [None, None, None]}),
    "no kernels": _field("kernels", {"tuple": []}),
    "a list without a name": _field("kernels", [1, 2]),
    "a kernel that is none": _field("kernels", {"tuple": [{"class": "gpssm.KeepState", "fields": {}}]}),
    "two meanings at once": _field("mean", {"class": "gpssm.KeepState", "fields": {}, "tuple": []}),
    "an engine that is not known": _field("mean", {"engine": "subprocess"}),
    "a model without parts": _top("model", {"class": "gpssm.GPSSM", "fields": {}}),
    "a model that is a kernel": _top("model", {"class": "gpssm.KeepState", "fields": {}}),
    "a model that is text": _top("model", "cos\nsystem\n(S'true'\ntR."),
    "a network that is a number": _top("recognition", 7),
    "no model": _without("model"),
    "no scaler": _without("scaler"),
    "a scaler of zero": _top(
        "scaler", {"output_mean": [0.0], "output_scale": [0.0], "input_mean": [0.0], "input_scale": [1.0]}
    ),
    "a scaler for other channels": _top(
        "scaler", {"output_mean": [0.0, 1.0], "output_scale": [1.0, 1.0], "input_mean": [], "input_scale": []}
    ),
    "names that are numbers": _top("output_names", [1]),
    "too many names": _top("output_names", ["a", "b"]),
    "names that are text": _top("input_names", "valve"),
    "a time step that is text": _top("dt", "soon"),
    "a history that is a list": _top("history", []),
    "a history without its arrays": _top("history", {"num_steps": 1}),
    "nesting of a hundred": _deep(100),
    "nesting of a hundred thousand": _deep(100_000),
}
