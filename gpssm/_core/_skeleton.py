"""The answer of a program without its arrays, for a file: a tree whose fixed parts come back as the objects they were.

Trees match if their fixed parts are equal, and some libraries leave objects without state, such as the way in which a
kernel is computed, equal to nothing but themselves. So what came with the arguments, or is the default of an argument
of a class, is not written but named.
"""

import inspect
import io
import pickle
from collections.abc import Iterator
from typing import Any

import jax

Name = tuple[Any, ...] | str
"""A class and the name of its argument; or, as text, the number of a part of what was given: a number by itself may be
such a part, and would be named without end."""


def dumps(answer: Any, given: Any) -> bytes:
    """The answer, made from arguments of the structure `given`."""
    names: dict[int, Name] = {}
    for kind, _ in _nodes(jax.tree.structure(answer)):
        names |= {id(value): (kind, name) for name, value in _defaults(kind).items()}
    names |= {id(value): str(i) for i, value in enumerate(_fixed(given))}

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj: Any) -> Name | None:
            return names.get(id(obj))

    file = io.BytesIO()
    Pickler(file).dump(answer)
    return file.getvalue()


def loads(written: bytes, given: Any) -> Any:
    """What was written, with the fixed parts of these arguments."""
    parts = list(_fixed(given))

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, pid: Name) -> Any:
            return parts[int(pid)] if isinstance(pid, str) else _defaults(pid[0])[pid[1]]

    return Unpickler(io.BytesIO(written)).load()


def _nodes(structure: Any) -> Iterator[tuple[type, Any]]:
    node = structure.node_data()
    if node is not None:
        yield node
    for child in structure.children():
        yield from _nodes(child)


def _fixed(structure: Any) -> Iterator[Any]:
    for _, fixed in _nodes(structure):
        yield from fixed if isinstance(fixed, tuple) else ()


def _defaults(kind: type) -> dict[str, Any]:
    """Values that arguments of the class have by default, where each is an object of its own."""
    if kind in (tuple, list, dict, type(None)):
        return {}
    try:
        parameters = inspect.signature(kind.__init__).parameters
    except (TypeError, ValueError):
        return {}
    held = {name: parameter.default for name, parameter in parameters.items()}
    return {name: value for name, value in held.items() if getattr(value, "__dict__", None) == {}}
