"""A tree of modules as plain JSON and named tensors, and back. No code from the file is run: see `_registry`."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np

from gpssm._core._errors import FileError
from gpssm.files._kinds import misfit
from gpssm.files._registry import ON_HOST, class_named, engine_name, engine_named, is_reserved, name_of
from gpssm.files._tensors import Tensors

MAX_DEPTH = 64
BLOCK = 1 << 20
"""Numbers that are looked at together."""
_Array = jax.Array | np.ndarray


def encode(node: Any, name: str) -> tuple[Any, Tensors]:
    """JSON for the structure and the static fields, and the arrays under names that begin with `name`."""
    tensors: Tensors = {}

    def store(name: str, node: _Array) -> None:
        array = np.asarray(node)
        if array.dtype.kind == "f" and not _is_finite(array):
            raise FileError(f"{name} is not finite: this model is broken and is not saved; fit it again")
        tensors[name] = array

    return _encode(node, name, store), tensors


def check_savable(tree: Any, name: str = "model") -> None:
    """Refuse what `encode` would refuse after hours of training: an unregistered class, or a function.

    No array is looked at, so that this costs next to nothing.
    """
    _encode(tree, name, lambda name, array: None)


def _encode(node: Any, name: str, store: Callable[[str, _Array], None]) -> Any:
    if isinstance(node, _Array):
        store(name, node)
        return {"tensor": name}
    if isinstance(node, np.generic):
        node = node.item()
    if node is None or isinstance(node, bool | int | float | str):
        if isinstance(node, float) and not np.isfinite(node):
            raise FileError(f"{name} is {node}: this model is broken and is not saved; fit it again")
        return node
    if isinstance(node, slice):
        return {"slice": [node.start, node.stop, node.step]}
    if type(node) in (tuple, list):
        items = [_encode(item, f"{name}.{i}", store) for i, item in enumerate(node)]
        return {type(node).__name__: items}
    engine = engine_name(type(node))
    if engine is not None:
        return {"engine": engine}
    class_name = name_of(type(node))
    if class_name is None:
        raise FileError(_refusal(node, name))
    # A field may live on the class alone (the name of a kernel); then it is no part of the tree.
    held = [f.name for f in dataclasses.fields(node) if f.name in vars(node) and f.metadata.get("stored", True)]
    fields = {field: _encode(getattr(node, field), f"{name}.{field}", store) for field in held}
    return {"class": class_name, "fields": fields}


def _refusal(node: Any, name: str) -> str:
    refused = f"{name} is of class {type(node).__module__}.{type(node).__qualname__}, which a model file cannot hold"
    if dataclasses.is_dataclass(node):
        return f"{refused}: register the class with `gpssm.files.register`, and do so again before the file is loaded"
    if callable(node):
        return f"{refused}: it stores no functions; make it an `eqx.Module` with `__call__` and register this class"
    return f"{refused}: it stores arrays, numbers, text, tuples, lists, and the classes that are registered"


def tensors_named(content: Any) -> set[str]:
    """The names of all tensors that a tree asks for, however deep it is."""
    names: set[str] = set()
    waiting = [content]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if set(node) == {"tensor"} and isinstance(node["tensor"], str):
                names.add(node["tensor"])
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return names


def decode(node: Any, tensors: Tensors) -> Any:
    """The tree that `encode` described."""
    return _decode(node, tensors, 0)


def _decode(node: Any, tensors: Tensors, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise FileError(f"the model is nested more than {MAX_DEPTH} deep: no model of gpssm is")
    if node is None or isinstance(node, bool | int | float | str):
        # Python reads 1e400 as infinity.
        if isinstance(node, float) and not np.isfinite(node):
            raise FileError("a number of the model is not finite: the file was not written by gpssm")
        return node
    if not isinstance(node, dict):
        raise FileError(f"a part of the model is a {type(node).__name__}: damaged, or not written by gpssm")
    match node:
        case {"tensor": str(name), **rest} if not rest and name in tensors:
            return _array(name, tensors[name])
        case {"tuple": list(items), **rest} if not rest:
            return tuple(_decode(item, tensors, depth + 1) for item in items)
        case {"list": list(items), **rest} if not rest:
            return [_decode(item, tensors, depth + 1) for item in items]
        case {"slice": [start, stop, step], **rest} if not rest and all(_is_index(n) for n in (start, stop, step)):
            return slice(start, stop, step)
        case {"engine": str(name), **rest} if not rest and (engine := engine_named(name)) is not None:
            return engine
        case {"class": str(name), "fields": dict(fields), **rest} if not rest:
            cls = class_named(name)
            if cls is None:
                raise _unknown(f"the class {name[:80]!r}", ours=is_reserved(name))
            values = {field: _decode(value, tensors, depth + 1) for field, value in fields.items()}
            return _build(name, cls, values)
    shown = repr({key: node[key] for key in list(node)[:2] if isinstance(node[key], str)})[:80]
    raise _unknown(shown, ours=True)


def _unknown(shown: str, *, ours: bool) -> FileError:
    reason = (
        "damaged, or of a later version"
        if ours
        else "import the module that registers it first (`gpssm.files.register`), and load again"
    )
    return FileError(f"the model has a part that this gpssm does not know ({shown}): {reason}")


def _array(name: str, array: np.ndarray) -> jax.Array:
    if array.dtype.kind == "f" and not _is_finite(array):
        raise FileError(f"{name} is not finite: the file was not written by gpssm")
    # Not `jnp.asarray`, which holds everything twice.
    return jax.device_put(array)


def _is_finite(array: np.ndarray) -> bool:
    """In blocks: what is true of each number would take an eighth of the array's own memory."""
    flat = array.reshape(-1)
    return all(np.isfinite(flat[i : i + BLOCK]).all() for i in range(0, flat.size, BLOCK))


def _is_index(value: Any) -> bool:
    return value is None or type(value) is int


def _build(name: str, cls: type, values: dict[str, Any]) -> Any:
    """An object from its fields. Constructors compute fields from arguments and so cannot be used; invariants are
    checked."""
    known = {field.name: field for field in dataclasses.fields(cls)}
    unknown = set(values) - set(known)
    if unknown:
        raise FileError(f"{name} has the unknown field '{min(unknown)[:40]}': a later version wrote the file")
    built = object.__new__(cls)
    for field in known.values():
        if field.name in values:
            value = values[field.name]
        elif field.default is not dataclasses.MISSING:
            continue  # the class holds it
        elif field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        else:
            raise FileError(f"{name} lacks the field '{field.name}': damaged, or of an earlier version")
        if field.metadata.get("static") and any(eqx.is_array(leaf) for leaf in jax.tree.leaves(value)):
            raise FileError(f"{name}.{field.name} cannot be a tensor: the file was not written by gpssm")
        if cls in ON_HOST and isinstance(value, jax.Array):
            value = np.asarray(value)
        wrong = misfit(cls, field.name, value) if is_reserved(name) else None
        if wrong is not None:
            raise FileError(f"{name}.{field.name} {wrong}: the file was not written by gpssm")
        object.__setattr__(built, field.name, value)
    for base in cls.__mro__:
        check = vars(base).get("__check_init__")
        if check is not None:
            check(built)
    return built
