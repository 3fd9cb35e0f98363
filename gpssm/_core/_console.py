"""Progress as lines: one that moves on a terminal and in a notebook, and a new one now and then in a file."""

import shutil
import sys
import threading
import time
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from gpssm._core._activity import clock, compiler, current, note
from gpssm._core._progress import Status

GROWTH = 1 / 200
"""Share of the time so far that may pass between two lines of a file: who has waited for an hour can wait for twenty
seconds more, and the file stays short."""


@runtime_checkable
class Stream(Protocol):
    """Where a console writes: a terminal, a file, or a buffer."""

    def write(self, text: str, /) -> object:
        """Take text."""

    def flush(self) -> object:
        """Let it be seen."""

    def isatty(self) -> bool:
        """Whether lines can be rewritten."""
        ...


def notebook() -> Any | None:
    """What shows things in the notebook that this runs in, if it does: the function `display` of IPython."""
    shell = sys.modules.get("IPython")
    if shell is None or not hasattr(shell.get_ipython(), "kernel"):
        return None
    return import_module("IPython.display").display


def usual_stream() -> Stream:
    """Beside the results; notebooks show in red what comes there."""
    return sys.stderr if notebook() is None else sys.stdout


@dataclass
class Console:
    """On a terminal, and in a notebook, one line that is rewritten; elsewhere a line every `every` seconds, and less
    often when hours have passed. Each begins with the time since the start, and says what is being done while nothing
    can be counted."""

    stream: Stream = field(default_factory=usual_stream)
    every: float = 1.5
    began: float = field(default_factory=time.monotonic)
    """Where its clock begins, as `time.monotonic` has it."""
    _last: float = field(default=float("-inf"), init=False)
    _open: bool = field(default=False, init=False)
    _status: Status | None = field(default=None, init=False)
    _heard: float = field(default=0.0, init=False)
    """When the status came."""
    _told: Status | None = field(default=None, init=False)
    """The status that a file has seen."""
    _display: Any = field(default=None, init=False)
    _lock: Any = field(default_factory=threading.RLock, init=False)

    def update(self, status: Status) -> None:
        """Show the present state."""
        with self._lock:
            self._status, self._heard = status, time.monotonic()
            self._show(at_once=status.step >= status.total)

    def tick(self) -> None:
        """Show that time passes."""
        with self._lock:
            self._show(at_once=False)

    def rest(self) -> None:
        """It is over: what comes next begins a line of its own."""
        with self._lock:
            self._leave()
            self.stream.flush()
            self._display = None

    def say(self, message: str) -> None:
        """Show a message on a line of its own."""
        with self._lock:
            self._leave()
            note(message.splitlines()[-1] if message else "")
            # Tables keep their columns.
            self.stream.write((message if "\n" in message else self._stamped(message)) + "\n")
            self._last = time.monotonic()
            self.stream.flush()

    def _show(self, *, at_once: bool) -> None:
        show = notebook() if self.stream is sys.stdout else None
        if self.stream.isatty() or show is not None:
            self._rewrite(self._line(short=False), show)
            return
        now = time.monotonic()
        if at_once or now - self._last >= max(self.every, GROWTH * (now - self.began)):
            self.stream.write(self._line(short=self._status is self._told) + "\n")
            self.stream.flush()
            self._last, self._told = now, self._status

    def _line(self, *, short: bool) -> str:
        """What is known now: the latest status, or what was begun since; in `short` where the status was shown."""
        activity, busy = current(), compiler()
        if self._status is not None and self._counts():
            status = self._status
            what = f"{status.stage:>9} {status.step:>6}/{status.total}" if short else status.line()
            since = self._heard
        else:
            what, since = ("working", self.began) if activity is None else activity
        parts = [self._stamped(what)]
        if busy is not None:
            parts.append(f"compiling for {clock(time.monotonic() - busy.since)}")
        elif time.monotonic() - since > self.every:
            parts.append(f"for {clock(time.monotonic() - since)}")
        return "  ".join(parts)

    def _stamped(self, text: str) -> str:
        return f"{clock(time.monotonic() - self.began):>7}  {text}"

    def _rewrite(self, text: str, show: Any | None) -> None:
        if show is None:
            # A line that is broken by the edge of the terminal could not be rewritten.
            self.stream.write("\r\x1b[2K" + text[: shutil.get_terminal_size().columns - 1])
            self.stream.flush()
            self._open = True
        elif self._display is None:
            self._display = show({"text/plain": text}, raw=True, display_id=True)
        else:
            self._display.update({"text/plain": text}, raw=True)

    def _leave(self) -> None:
        """Begin another line, where one moves. What was counted stays to be read."""
        if self._open:
            self.stream.write("\n" if self._counts() else "\r\x1b[2K")
        self._open = False

    def _counts(self) -> bool:
        """Whether a status is the latest that is known."""
        activity = current()
        return self._status is not None and (activity is None or activity.since <= self._heard)
