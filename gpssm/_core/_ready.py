"""Programs that were traced and compiled by an earlier process, on disk beside those that JAX keeps."""

import itertools
import logging
import os
import pickle
import re
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from equinox._config import EQX_ON_ERROR
from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from gpssm._core import _skeleton
from gpssm._core._code_state import code_state
from gpssm._core._fingerprint import fingerprint
from gpssm._core._program_cache import keep_programs, make_room

log = logging.getLogger("gpssm")
Found = tuple[jax.stages.Compiled, Any, tuple[tuple[Any] | None, ...]]
SUFFIX = ".ready"
READ = "/jax/compilation_cache/cache_hits"
"""What JAX tells when it has found a program on disk."""
OFTEN = 200
"""After so many programs a process looks whether there is still room for more."""
_saved = itertools.count(1)
LAPACK = "lapack_"
CALLED = re.compile(r'custom_call_target="([^"]*)"')
"""Functions outside of it that a program calls."""


def name_of(function: object, options: dict[str, Any] | None, kind: tuple[Any, ...]) -> Path | None:
    """The file for a program; None where programs are not kept, or where this one cannot be told from others."""
    folder = keep_programs()
    # The type checker does not see the settings of JAX.
    if folder is None or str(folder) != jax.config.jax_compilation_cache_dir:  # pyright: ignore
        return None
    structure, form, settings = kind
    shapes = tuple((part[0], str(part[1]), part[2]) if len(part) == 3 else part[1] for part in form)
    try:
        told = fingerprint(code_state(), function, options, structure, shapes, settings, _flags())
    except Exception as problem:
        # Whatever keeps it from being told apart, it is traced as any other function is.
        log.debug("%s is not kept: %s", function, problem)
        return None
    return folder / f"{told.hex()[:40]}{SUFFIX}"


@cache
def _flags() -> tuple[bytes, str]:
    """What XLA and Equinox have read when they began. They are asked: their variables may say something else since, or
    name a file with other contents."""
    jax.devices()
    return xla_client.CompileOptions().SerializeAsString(), EQX_ON_ERROR


def load(name: Path, given: Any) -> Found | None:
    """The program for arguments of the structure `given`, if it is there and whole."""
    try:
        held = _read(name)
        digest, payload = held[:32], held[32:]
        if sha256(payload).digest() != digest:
            raise ValueError("damaged")
        # No less to be trusted than the programs in the same folder, which are run.
        program, arguments, answer = pickle.loads(payload)
        inputs = jax.tree.structure(((list(range(arguments)),), {}))
        _prepare_lapack()
        skeleton, fixed = _skeleton.loads(answer, given)
        outputs = jax.tree.structure(list(range(sum(part is None for part in fixed))))
        compiled = deserialize_and_load(program, inputs, outputs)
        with suppress(OSError):
            os.utime(name)  # the oldest are removed first
        return compiled, jax.tree.structure(skeleton), fixed
    except FileNotFoundError:
        return None
    except Exception as problem:
        # Whatever is wrong with it, the program can be compiled once more.
        log.debug("%s is not used: %s", name, problem)
        with suppress(OSError):
            name.unlink()
        return None


def _read(name: Path) -> bytes:
    """What is in the file, if it is one and nobody else has put it there: programs are run."""
    # A pipe under this name would be waited for.
    with open(os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
        told = os.fstat(file.fileno())
        if not stat.S_ISREG(told.st_mode):
            raise ValueError("no file")
        if os.name == "posix" and told.st_uid not in (0, os.geteuid()):
            raise ValueError("of somebody else")
        return file.read()


def is_first_to_mend(name: Path) -> bool:
    """Whether nobody has tried before to put back a program that is gone, though JAX still has its own copy. Not every
    program can be kept, and those that cannot are not compiled for that again and again."""
    try:
        name.with_suffix(".mended").touch(exist_ok=False)
    except OSError:
        return False
    return True


def save(
    name: Path, given: Any, compiled: jax.stages.Compiled, structure: Any, fixed: tuple[tuple[Any] | None, ...]
) -> None:
    """Keep the program for other processes. Where that cannot be, they compile it themselves."""
    try:
        code_state()  # it may have been changed since the program was named
        text = compiled.as_text()
        if not text or any(not target.startswith(LAPACK) for target in CALLED.findall(text)):
            return  # whether others are ready in a process that has not traced them, is not known
        program, inputs, _ = serialize(compiled)
        skeleton = jax.tree.unflatten(structure, [0] * structure.num_leaves)
        answer = _skeleton.dumps((skeleton, fixed), given)
        again = _skeleton.loads(answer, given)
        if (jax.tree.structure(again[0]), again[1]) != (structure, fixed):
            return
        payload = pickle.dumps((program, inputs.num_leaves, answer))
    except Exception as problem:
        log.debug("%s is not kept: %s", name, problem)
        return
    with suppress(OSError):
        handle, draft = tempfile.mkstemp(dir=name.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(sha256(payload).digest() + payload)
            os.replace(draft, name)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise
        if next(_saved) % OFTEN == 0:
            make_room(name.parent)


@contextmanager
def watching() -> Iterator[list[str]]:
    """While entered, the list grows with every program that JAX reads from disk instead of compiling it."""
    _listen()
    reads: list[str] = []
    with _lock:
        _watched[id(reads)] = reads
    try:
        yield reads
    finally:
        with _lock:
            del _watched[id(reads)]


_lock = threading.Lock()
_watched: dict[int, list[str]] = {}


@cache
def _listen() -> None:
    jax.monitoring.register_event_listener(_heard)


def _heard(event: str, **_: object) -> None:
    if event == READ:
        with _lock:
            for reads in _watched.values():
                reads.append(event)


@cache
def _prepare_lapack() -> None:
    """JAX looks for the functions of LAPACK when it first translates one; a program that calls them before that ends
    the process."""
    jax.jit(jnp.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), jnp.float32))
