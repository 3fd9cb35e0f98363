"""The code from which programs are traced: a program of another state of it must never be taken for one of this."""

import os
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gpssm._core._fingerprint import LIBRARIES, UnknownError, code_pieces, is_known

PACKAGE = Path(__file__).parents[1]
_PLACE = os.stat(PACKAGE)
"""A folder that is exchanged as a whole keeps the times of what is in it."""
_dispatches: list[Callable[[], Any]] = []


def part_of_programs(dispatch: Callable[[], Any]) -> None:
    """Tell of a `singledispatch` on which programs depend; when asked, it has all rules that the package brings."""
    _dispatches.append(dispatch)


def code_state() -> bytes:
    """Different for every state of the library and of those that it stands on; `UnknownError` where that is not all."""
    source, elsewhere = _state(PACKAGE)
    digest = sha256(source)
    for piece in _rules():
        digest.update(f"{len(piece)}:".encode() + piece)
    # What has been changed while Python runs may have been imported before, or after: nobody knows what will be traced.
    began: int = sys.modules[PACKAGE.name].BEGAN
    # Other libraries may have been imported, and then exchanged, long before this one.
    changed = any(_change(path) > process_began(began) for path in elsewhere)
    if changed or max(_changes(os.fspath(PACKAGE))) > began or not os.path.samestat(os.stat(PACKAGE), _PLACE):
        raise UnknownError("the code was changed while it runs")
    return digest.digest()


@cache
def process_began(latest: int) -> int:
    """When Python started, in nanoseconds, to about a second and rather too early; where nobody says, the latest time
    that it can have been."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        booted = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime"))
        began = (int(booted.split()[1]) + ticks // os.sysconf("SC_CLK_TCK")) * 10**9
    except (OSError, ValueError, IndexError, StopIteration):
        return latest
    # Some containers tell the time of another machine.
    return began if latest - LONGEST < began < latest else latest


LONGEST = 30 * 86_400 * 10**9
"""A process of which it is said that it has run for longer is not believed."""


def _rules() -> Iterator[bytes]:
    """What is said of each class. Somebody may have said anew what a known one does, and it looks as before. For a
    class of their own that does not matter: what has one among its arguments has no fingerprint."""
    for dispatch in _dispatches:
        function = dispatch()
        for kind, registered in function.registry.items():
            if not is_known(kind.__module__):
                if isinstance(kind, ABCMeta) and _is_open(kind):
                    raise UnknownError(f"{kind.__qualname__} may stand for known classes")
                continue
            if not _is_written_in(registered, PACKAGE.name):
                raise UnknownError(f"{kind.__qualname__} of {function.__name__} is somebody's own")
            yield f"{function.__qualname__} {kind.__module__} {kind.__qualname__}".encode()
            yield from code_pieces(registered.__code__)
    # Parameters of GPJax are numbers without bounds, by a rule for each kind of bounds.
    bounds = sys.modules.get("numpyro.distributions")
    for kind, registered in bounds.biject_to._registry.items() if bounds else ():
        if is_known(kind.__module__):
            if not _is_written_in(registered, "numpyro", "gpjax"):
                raise UnknownError(f"{kind.__qualname__} is met in somebody's own way")
            yield f"biject_to {kind.__module__} {kind.__qualname__}".encode()
            yield from code_pieces(registered.__code__)


def _is_written_in(rule: Any, *packages: str) -> bool:
    """Whether all that a rule does is seen in its code, which is that of one of these packages."""
    # One that was wrapped does what it closes over, whoever has wrapped it.
    names = getattr(rule, "__globals__", {})
    closed = getattr(rule, "__closure__", None) is None
    return closed and str(names.get("__name__")).partition(".")[0] in packages


def _is_open(kind: type) -> bool:
    """Whether classes that do not inherit from an abstract one have been registered as its subclasses."""
    try:
        dump = import_module("_abc")._get_dump
    except (ImportError, AttributeError):
        return True
    return bool(dump(kind)[0])


@cache
def _state(package: Path) -> tuple[bytes, tuple[str, ...]]:
    """The state, and the files of other libraries that stand for when they were installed."""
    told, files = [sys.version], []
    for name in LIBRARIES:
        spec = find_spec(name)
        if spec is None:
            told.append(f"{name} is not there")
            continue
        # What lies elsewhere is being worked on, and its version does not say much.
        if spec.origin is None or not {"site-packages", "dist-packages"} & set(Path(spec.origin).parts):
            raise UnknownError(f"{name} is not an installed release")
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            raise UnknownError(f"{name} has no version") from None
        # The list of its files and their contents: two builds may have one version.
        record = installed.read_text("RECORD")
        if not record:
            raise UnknownError(f"{name} does not say what it holds")
        told.append(f"{name} {installed.version} {record}")
        files.append(spec.origin)
    digest, sources = sha256("\n".join(told).encode()), sorted(package.rglob("*.py"))
    if not sources:
        raise UnknownError("the sources are not there")
    for path in sources:
        # All that is written there: on some machines every file has the same time.
        digest.update(f"\n{path.relative_to(package)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.digest(), tuple(files)


def _changes(folder: str) -> Iterator[int]:
    """When each source below a folder was changed. Other files do not matter: Python writes there what it compiles."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _changes(entry.path)
            elif entry.name.endswith(".py"):
                yield _change(entry.path)


def _change(path: str) -> int:
    """In nanoseconds. Copies keep the time of their contents, and have been changed all the same."""
    told = os.stat(path)
    return max(told.st_mtime_ns, told.st_ctime_ns if os.name == "posix" else 0)
