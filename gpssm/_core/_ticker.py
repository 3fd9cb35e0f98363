"""A thread that lets people see that something goes on: compilers and long calls do not return to Python meanwhile."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

OFTEN = 0.4
"""Seconds between two signs of life."""
_ticked: list[int] = []


@runtime_checkable
class Ticking(Protocol):
    """Shows that time passes."""

    def tick(self) -> None:
        """Some time has passed. Called in another thread."""

    def rest(self) -> None:
        """It is over: leave the screen in order."""


@contextmanager
def alive(shown: object) -> Iterator[None]:
    """While entered, what can show that time passes is told so; what cannot, or is told already, is left alone."""
    if not isinstance(shown, Ticking) or id(shown) in _ticked:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_tick, args=(shown, over), name="gpssm-ticker", daemon=True)
    _ticked.append(id(shown))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=2.0)
        _ticked.remove(id(shown))
        shown.rest()


def _tick(shown: Ticking, over: threading.Event) -> None:
    while not over.is_set():
        try:
            shown.tick()
        except OSError:
            return  # nobody listens any more, which is no reason to lose a fit
        over.wait(OFTEN)
