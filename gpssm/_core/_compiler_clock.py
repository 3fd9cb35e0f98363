"""How long the compiler has worked, and whether it is working now: it does not return to Python meanwhile, and the time
that is left must not be guessed from it."""

import threading
import time
from functools import cache

from gpssm._core._activity import compiling

LOWERED = "/jax/core/compile/jaxpr_to_mlir_module_duration"
COMPILED = "/jax/core/compile/backend_compile_duration"
PARTS = ("/jax/core/compile/jaxpr_trace_duration", LOWERED, COMPILED)
"""JAX tells the end of each, and how long it took. What follows the second is the third."""


class Intervals:
    """Stretches of time whose ends become known one after the other. They may lie inside each other: a function is
    traced while another one is."""

    def __init__(self) -> None:
        self._kept: list[tuple[float, float]] = []
        self._lock = threading.Lock()

    def add(self, start: float, end: float) -> None:
        """One has ended."""
        with self._lock:
            while self._kept and self._kept[-1][1] >= start:
                before = self._kept.pop()
                start, end = min(start, before[0]), max(end, before[1])
            self._kept.append((start, end))

    def total(self, since: float) -> float:
        """How much of the time since then they cover."""
        with self._lock:
            return sum(max(0.0, end - max(start, since)) for start, end in self._kept)


_worked = Intervals()


def compiler_seconds(since: float) -> float:
    """Seconds for which something was traced or compiled since then, by the clock that `time.monotonic` reads."""
    return _worked.total(since)


@cache
def watch_compiler() -> None:
    """Hear from JAX when programs are compiled, from now on."""
    import jax

    jax.monitoring.register_event_duration_secs_listener(_heard)


def _heard(event: str, duration_secs: float, **_: object) -> None:
    if event in PARTS:
        now = time.monotonic()
        _worked.add(now - duration_secs, now)
    if event in (LOWERED, COMPILED):
        compiling(event == LOWERED)
