"""The code from which programs are traced: a program of another state of it must never be taken for one of this."""

import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, TypeVar

from gpssm._core._fingerprint import LIBRARIES, UnknownError, is_known

PACKAGE = Path(__file__).parents[1]
Dispatch = TypeVar("Dispatch", bound=Callable[..., Any])
_dispatches: list[Any] = []


def part_of_programs(function: Dispatch) -> Dispatch:
    """Mark a `singledispatch` on which programs depend."""
    _dispatches.append(function)
    return function


def code_state() -> bytes:
    """Different for every state of the library and of those that it stands on; `UnknownError` where that is not all."""
    for function in _dispatches:
        for kind, registered in function.registry.items():
            # Somebody has said anew what a known class does, and it looks as before. For a class of their own that does
            # not matter: what has one among its arguments has no fingerprint.
            if is_known(kind.__module__) and not registered.__module__.startswith(f"{PACKAGE.name}."):
                raise UnknownError(f"{kind.__qualname__} of {function.__name__} is somebody's own")
    return _state(PACKAGE)


@cache
def _state(package: Path) -> bytes:
    told = [sys.version]
    for name in LIBRARIES:
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            told.append(f"{name} is not there")
            continue
        # The list of its files and their contents: two builds may have one version.
        told += [f"{name} {installed.version}", installed.read_text("RECORD") or ""]
        # What lies elsewhere is being worked on, and neither says much.
        place = getattr(sys.modules.get(name), "__file__", None)
        if place is not None and not {"site-packages", "dist-packages"} & set(Path(place).parts):
            raise UnknownError(f"{name} is not an installed release")
    digest = sha256("\n".join(told).encode())
    for path in sorted(package.rglob("*.py")):
        # All that is written there: on some machines every file has the same time.
        digest.update(f"\n{path.relative_to(package)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.digest()
