"""What a compiled program depends on beside its arrays and the code, as bytes that are the same in every process.

Only what can be told apart for certain has a fingerprint: plain values, and classes and functions of this library and
of those that it stands on. A kernel of the user's own has none, because nobody sees when its code is changed.
"""

import struct
import sys
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from hashlib import sha256
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

LIBRARIES = (
    *("jax", "jaxlib", "equinox", "gpjax", "paramax", "optax", "optimistix", "lineax", "diffrax", "cuthbert"),
    *("cuthbertlib", "jaxtyping", "numpyro", "numpy", "scipy", "ml_dtypes", "opt_einsum", "multipledispatch"),
)
"""Whose code may be part of a program, and is known by a version."""
STANDARD = ("builtins", "functools", "operator", "math", "collections")
PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)


class UnknownError(Exception):
    """Something that has no fingerprint."""


def fingerprint(*values: object) -> bytes:
    """Different for values from which different programs would be traced; `UnknownError` where that is not certain."""
    digest = sha256()
    for piece in _pieces(values, ()):
        # With its length, so that two pieces are never taken for one.
        digest.update(f"{len(piece)}:".encode() + piece)
    return digest.digest()


def _pieces(value: Any, within: tuple[int, ...]) -> Iterable[bytes]:
    if id(value) in within:
        # A function that calls itself: how far up it was met says which one.
        yield f"outer {within[::-1].index(id(value))}".encode()
        return
    below = (*within, id(value))
    if type(value) in PLAIN:
        yield f"{type(value).__name__} {value!r}".encode()
    elif type(value) in (tuple, list):
        yield from _several(type(value).__name__, value, below)
    elif type(value) is dict:
        yield from _several("dict", [part for item in value.items() for part in item], below)
    elif isinstance(value, jax.tree_util.PyTreeDef):
        node = value.node_data()
        if node is not None and id(node[1]) in within:
            raise UnknownError(f"a {node[0].__qualname__} that is its own fixed part")
        yield from _several("tree", [node, *value.children()], below)
    elif isinstance(value, np.ndarray | np.generic | jax.Array):
        if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.extended):
            raise UnknownError(f"an array of {value.dtype}")
        if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
            raise UnknownError(f"a {type(value).__qualname__}")
        if isinstance(value, np.generic) and type(value) is not value.dtype.type:
            raise UnknownError(f"a {type(value).__qualname__}")
        held, weak = np.asarray(value), getattr(value, "weak_type", False)
        if held.dtype.hasobject or held.dtype.kind not in "biufcV":
            raise UnknownError(f"an array of {held.dtype}")
        kind = "scalar" if isinstance(value, np.generic) else "jax" if isinstance(value, jax.Array) else "array"
        yield f"{kind} {held.dtype!r} {held.dtype.descr} {held.shape} {weak}".encode()
        yield held.tobytes()
    elif isinstance(value, np.dtype):
        yield f"dtype {value!r} {value.descr}".encode()
    elif isinstance(value, Enum):
        yield from _several("enum", [type(value), value.name], below)
    elif value is type(None):
        yield b"no value"
    elif isinstance(value, slice):
        yield from _several("slice", [value.start, value.stop, value.step], below)
    elif type(value) is partial:
        yield from _several("partial", [value.func, value.args, value.keywords], below)
    elif isinstance(value, MethodType):
        yield from _several("method", [value.__self__, value.__func__], below)
    elif (name := _public_name(value)) is not None:
        yield name.encode()
    elif isinstance(value, FunctionType):
        yield from _function(value, below)
    elif isinstance(value, tuple) and hasattr(type(value), "_fields"):
        yield from _several("named", [type(value), *value], below)
    elif not jax.tree_util.all_leaves([value]):
        leaves, structure = jax.tree.flatten(value)
        yield from _several("tree of", [structure, *leaves], below)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _several("object", [type(value), *(getattr(value, part.name) for part in fields(value))], below)
    elif is_known(type(value).__module__) and _is_mark(value):
        yield from _several("mark", [type(value)], below)
    else:
        kind = value if isinstance(value, type) else type(value)
        raise UnknownError(f"{kind.__module__}.{kind.__qualname__}")


def _is_mark(value: object) -> bool:
    """Whether it is nothing but of its class, such as what says that a field is missing."""
    # What is written in C, or has slots, may hold what nobody sees.
    own = all(
        kind is object or (kind.__flags__ & _HEAP and "__slots__" not in vars(kind)) for kind in type(value).__mro__
    )
    return own and type(value).__basicsize__ <= _PLAIN and getattr(value, "__dict__", None) == {}


_HEAP = 1 << 9
"""The flag of classes that were made by a statement of Python, and of some that were made in C++."""
_PLAIN = object.__basicsize__ + 2 * struct.calcsize("P")
"""The most that an object without slots takes: room for a dictionary and for weak references to it."""


def _several(kind: str, values: Iterable[object], within: tuple[int, ...]) -> Iterable[bytes]:
    held = list(values)
    yield f"{kind} {len(held)}".encode()
    for value in held:
        yield from _pieces(value, within)


def _function(value: FunctionType, within: tuple[int, ...]) -> Iterable[bytes]:
    """A function that has no name of its own: where it is written, what it does, and what it has been given."""
    # One that wraps a known function bears its name.
    if not is_known(value.__module__) or not is_known(value.__globals__.get("__name__")):
        raise UnknownError(f"{value.__module__}.{value.__qualname__}")
    yield f"function {value.__module__} {value.__qualname__}".encode()
    yield from code_pieces(value.__code__)
    given = [_content(cell) for cell in value.__closure__ or ()]
    yield from _several("given", [given, value.__defaults__, value.__kwdefaults__], within)


def code_pieces(code: CodeType) -> Iterable[bytes]:
    """What a function does, and where it is written."""
    yield f"code {code.co_qualname} {code.co_names}".encode()
    yield f"{code.co_varnames} {code.co_freevars} {code.co_flags} {list(code.co_positions())}".encode()
    yield code.co_code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_pieces(constant)
        else:
            # The order of a set is another one in each process.
            told = sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant)
            yield f"{type(constant).__name__} {told}".encode()


def _content(cell: CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:
        return []  # a name that is never given a value


def _public_name(value: object) -> str | None:
    """The name under which exactly this object is found in a module that is known."""
    if not isinstance(value, type | FunctionType | BuiltinFunctionType) and not callable(value):
        return None
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not is_known(module):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"name {module} {name}" if found is value else None


def is_known(module: str | None) -> bool:
    """Whether code of that module is part of the library, or of those that are known by a version."""
    return (module or "").partition(".")[0] in ("gpssm", *LIBRARIES, *STANDARD)
