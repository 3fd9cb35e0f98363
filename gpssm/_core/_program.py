"""A function as a compiled program: arrays are its arguments, and everything else is part of it.

As `equinox.filter_jit`, with two differences. What was compiled is kept on disk together with what it answers, so that
the next process need not even trace it, which takes as long as running a small fit. And how it is compiled may depend
on the machine, which is not known before the first call.
"""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakSet

import equinox as eqx
import jax
import numpy as np
from jax._src import config
from jax.core import Tracer
from jax.sharding import SingleDeviceSharding

from gpssm._core import _ready

P = ParamSpec("P")
R = TypeVar("R")

_NO_MATTER = ("jax_compilation_cache", "jax_enable_compilation_cache", "jax_persistent_cache", "jax_log", "jax_explain")
MANY = 1000
"""Programs that are held by one function; beyond, all of them are forgotten. Each takes mappings of memory, of which a
process has only so many."""
SETTINGS = tuple(name for name in dir(jax.config) if name.startswith("jax_") and not name.startswith(_NO_MATTER))
"""Settings of JAX under which another program may be traced: all but those of caches and messages."""
FLAGS = tuple(sorted(name for name in set(jax.config.values) - set(SETTINGS) if not name.startswith(_NO_MATTER)))
"""The same that JAX holds by name only."""
UNUSUAL = ("jax_disable_jit", "jax_debug_nans", "jax_debug_infs", "jax_check_tracer_leaks", "jax_default_device")
"""Settings of JAX under which its own way is taken."""


def _contexts() -> tuple[tuple[int, object], ...]:
    """Position and usual value of what else a trace depends on, such as a mesh that one is within. It has no name in
    the settings, and some of it none that could be written down."""
    usual = enumerate(config.trace_context())
    if not hasattr(config, "trace_context_names"):  # older versions of JAX
        return tuple((i, value) for i, value in usual if value is None or value == ())
    names = config.trace_context_names()
    return tuple((i, value) for i, value in usual if names[i] not in SETTINGS)


_CONTEXTS = _contexts()


class Program(Generic[P, R]):
    """A function that is compiled for each kind of arguments."""

    def __init__(self, function: Callable[P, R], options: Callable[[], dict[str, Any] | None]):
        self._function, self._options = function, options
        self._signature = inspect.signature(function)
        self._made: dict[object, Executable] = {}
        _all.add(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        bound = self._signature.bind(*args, **kwargs)
        leaves, structure = jax.tree.flatten((bound.args, bound.kwargs))
        if not _is_usual(leaves):
            return self._in_jaxs_way(*args, **kwargs)
        try:
            return self._executable(leaves, structure)(leaves)
        except ValueError:
            # Arrays may be laid out in their own way, for which a compiled program is not made; JAX makes another.
            if all(map(_is_laid_out_as_usual, leaves)):
                raise
            return self._in_jaxs_way(*args, **kwargs)

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """What the compiler would be given, for those who look at it."""
        return self._in_jaxs_way.lower(*args, **kwargs)

    @cached_property
    def _in_jaxs_way(self) -> Any:
        # The type checker does not see that further options go to `jax.jit`.
        return eqx.filter_jit(self._function, compiler_options=self._options())  # pyright: ignore

    def _executable(self, leaves: list[Any], structure: Any) -> "Executable":
        _follow_jax()
        form = tuple(_form(leaf) for leaf in leaves)
        # As JAX tells its own programs apart within a process. All settings as text, which another process can
        # compare, take ten times as long to look at as a small program takes to run.
        kind = (structure, form, config.trace_context())
        made = self._made.get(kind)
        if made is None:
            if len(self._made) >= MANY:
                self._made.clear()
            made = self._found_or_compiled(leaves, kind)
            self._made[kind] = made
        return made

    def _found_or_compiled(self, leaves: list[Any], kind: tuple[Any, ...]) -> "Executable":
        options, (structure, form, _) = self._options(), kind
        settings = (getattr(jax.config, name) for name in SETTINGS)
        flags = (jax.config.values.get(name) for name in FLAGS)
        name = _ready.name_of(self._function, options, (structure, form, tuple(map(str, (*settings, *flags)))))
        found = None if name is None else _ready.load(name, structure)
        if found is None or name is None:
            return self._compiled(leaves, structure, options, name)
        return Executable(*found, instead=lambda again: self._again(again, kind, options, name))

    def _again(self, leaves: list[Any], kind: tuple[Any, ...], options: Any, name: Path) -> "Executable":
        """What was found is not whole, which shows only when it runs."""
        name.unlink(missing_ok=True)
        # Under its old name JAX would give what it has read, and that cannot be written once more.
        made = self._compiled(leaves, kind[0], options, None)
        self._made[kind] = made
        return made

    def _compiled(
        self, leaves: list[Any], structure: Any, options: Any, name: Path | None, again: str = ""
    ) -> "Executable":
        answer: list[Any] = []
        function: Callable[..., Any] = self._function

        def flat(arrays: list[Any]) -> list[Any]:
            given = iter(arrays)
            filled = [next(given) if _is_array(leaf) else leaf for leaf in leaves]
            args, kwargs = jax.tree.unflatten(structure, filled)
            made, shape = jax.tree.flatten(function(*args, **kwargs))
            answer[:] = [shape, tuple(None if _is_array(leaf) else (leaf,) for leaf in made)]
            return [leaf for leaf in made if _is_array(leaf)]

        # JAX keeps programs, too, and one that it has read from disk cannot be written once more: those that are kept
        # here have a name of their own, which no other state of the code finds there.
        told = "" if name is None else f"_{name.stem[:12]}{again}"
        flat.__name__ = flat.__qualname__ = f"{self._function.__name__}{told}"
        with _ready.watching() as reads:
            compiled = jax.jit(flat, compiler_options=options).lower(_arrays(leaves)).compile()
        if name is not None and not reads:
            _ready.save(name, structure, compiled, *answer)
        elif name is not None and not again and _ready.is_first_to_mend(name):
            return self._compiled(leaves, structure, options, name, again=f"_{os.urandom(4).hex()}")
        return Executable(compiled, *answer)


_all: "WeakSet[Program[Any, Any]]" = WeakSet()
_mark: Any = jax.jit(lambda: 0)


def _follow_jax() -> None:
    """Forget programs when JAX has been told to (`jax.clear_caches`): whoever says that wants the memory back."""
    if not _mark._cache_size():
        for program in list(_all):
            program._made.clear()
        _mark()


@dataclass(frozen=True)
class Executable:
    """A compiled program, and how its answer is put together."""

    compiled: jax.stages.Compiled
    structure: Any
    fixed: tuple[tuple[Any] | None, ...]
    """Parts of the answer that are no arrays; None where there is one."""
    instead: Callable[[list[Any]], "Executable"] | None = None
    """Makes the program anew, where it was found and may lack a part, from arguments: those of the first call would
    otherwise stay in memory as long as the program."""

    def __call__(self, leaves: list[Any]) -> Any:
        try:
            # As `filter_jit` does: what fails, fails here, and what takes long is waited for here.
            made = iter(jax.block_until_ready(self.compiled(_arrays(leaves))))
        except jax.errors.JaxRuntimeError as error:
            if self.instead is None or "NOT_FOUND" not in str(error):
                raise
            return self.instead(leaves)(leaves)
        return jax.tree.unflatten(self.structure, [next(made) if part is None else part[0] for part in self.fixed])


def _form(leaf: Any) -> object:
    if not _is_array(leaf):
        # One and True are equal, and not the same; so are zero and minus zero.
        return type(leaf), leaf.hex() if type(leaf) is float else leaf
    return leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False)


def _arrays(leaves: list[Any]) -> list[Any]:
    return [leaf for leaf in leaves if _is_array(leaf)]


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | np.generic)


def _is_usual(leaves: list[Any]) -> bool:
    """Whether everything lies on the one CPU that there is, and nothing is being traced or debugged."""
    if jax.default_backend() != "cpu" or jax.device_count() > 1:
        return False
    now = config.trace_context()
    if any(now[i] != value for i, value in _CONTEXTS):
        return False
    if any(getattr(jax.config, name) for name in UNUSUAL) or any(isinstance(leaf, Tracer) for leaf in leaves):
        return False
    # What is spread over a mesh, be it of one device, is laid out in its own way.
    return all(isinstance(leaf.sharding, SingleDeviceSharding) for leaf in leaves if isinstance(leaf, jax.Array))


def _is_laid_out_as_usual(leaf: Any) -> bool:
    if not isinstance(leaf, jax.Array):
        return True
    # The type checker does not know of formats.
    layout: Any = getattr(leaf, "format", None)
    order = getattr(getattr(layout, "layout", None), "major_to_minor", None)
    kind = leaf.sharding.memory_kind
    return order in (None, tuple(range(leaf.ndim))) and kind in (None, jax.devices()[0].default_memory().kind)
