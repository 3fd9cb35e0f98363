"""What this process is busy with, in a few words, for whoever shows that it lives.

One for the whole process, as the compiler and the terminal are: whoever does something that takes a while says so, and
need not know whether anybody watches.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Activity(NamedTuple):
    """Something that is being done."""

    what: str
    since: float
    """By the clock that `time.monotonic` reads."""


_doing: list[Activity] = []
_noted: list[Activity] = []
_compiling: list[Activity] = []


@contextmanager
def doing(what: str) -> Iterator[None]:
    """While entered, this is what is being done. One inside another hides it until it ends."""
    entry = Activity(what, time.monotonic())
    _doing.append(entry)
    try:
        yield
    finally:
        _doing.remove(entry)
        # What was noted meanwhile belonged to it.
        _noted[:] = [note for note in _noted if note.since < entry.since]


def note(what: str) -> None:
    """From now on this is being done, until something else is noted or begun."""
    begun = _doing[-1].since if _doing else float("-inf")
    # What was noted before the innermost began comes back when it has ended.
    _noted[:] = [*(earlier for earlier in _noted if earlier.since < begun), Activity(what, time.monotonic())]


def current() -> Activity | None:
    """What was begun or noted last."""
    return max([*_doing[-1:], *_noted], key=lambda activity: activity.since, default=None)


def compiling(begun: bool) -> None:
    """The compiler has begun, or has done its work."""
    _compiling[:] = [Activity("compiling", time.monotonic())] if begun else []


def compiler() -> Activity | None:
    """What the compiler is doing, if anything."""
    return next(iter(_compiling[:1]), None)


def clock(seconds: float) -> str:
    """A time as people read it: 0:07, 12:34, 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
