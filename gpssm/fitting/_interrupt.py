"""Ctrl-C as a wish: answered at once, carried out at the next safe point, so that nothing is lost half-way.

A signal handler of Python runs between two instructions of Python, and compiled programs and compilers take seconds
between them. The answer therefore comes from a thread that a byte in a pipe wakes: the interpreter writes it the moment
the signal arrives, whatever it is doing.
"""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any


class InterruptedFitError(Exception):
    """The wish has been heard at a safe point. Never leaves the library."""


Stopped = (InterruptedFitError, KeyboardInterrupt)
"""What ends a search: the wish, or, where nobody has entered an `Interruption`, Ctrl-C itself."""


class Interruption:
    """While entered, the first Ctrl-C is a wish to stop soon, and the second stops at once.

    Signals reach the main thread only; in any other thread, and inside another one, this changes nothing.
    """

    _entered: "Interruption | None" = None

    def __init__(self, acknowledge: Callable[[str], None]):
        self._acknowledge = acknowledge
        self._outer: Interruption | None = None
        self._requested = False
        self._installed = False

    @property
    def requested(self) -> bool:
        """Whether somebody wants this to end."""
        return self._requested if self._outer is None else self._outer.requested

    def request(self) -> None:
        """Ask for the end, as Ctrl-C does."""
        self._requested = True
        if self._outer is not None:
            self._outer.request()

    def check(self) -> None:
        """A safe point: ends what is being done if that was asked for."""
        if self.requested:
            raise InterruptedFitError

    def heard(self, stopped: BaseException) -> None:
        """What has ended a search: the second Ctrl-C goes on its way; the first is a wish also where it came as an
        exception, because nobody has entered this."""
        if isinstance(stopped, KeyboardInterrupt) and self.requested:
            raise stopped
        self.request()

    def __enter__(self) -> "Interruption":
        if Interruption._entered is not None:
            self._outer = Interruption._entered
        elif threading.current_thread() is threading.main_thread() and _python_handles_it():
            self._install()
            Interruption._entered = self
        return self

    def __exit__(self, *_: object) -> None:
        if self._installed:
            Interruption._entered = None
            self._remove()

    def _install(self) -> None:
        self._reader, writer = os.pipe()
        os.set_blocking(writer, False)
        self._writer = writer
        self._handler_before = signal.signal(signal.SIGINT, self._on_signal)
        self._wakeup_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self._watcher = threading.Thread(target=self._watch, name="gpssm-interrupt", daemon=True)
        self._watcher.start()
        self._installed = True

    def _remove(self) -> None:
        signal.set_wakeup_fd(self._wakeup_before)
        signal.signal(signal.SIGINT, self._handler_before)
        os.close(self._writer)
        self._watcher.join(timeout=2.0)
        os.close(self._reader)
        self._installed = False

    def _on_signal(self, number: int, frame: FrameType | None) -> Any:
        if self._requested:
            raise KeyboardInterrupt
        self._requested = True

    def _watch(self) -> None:
        said = False
        while received := os.read(self._reader, 64):
            if self._wakeup_before >= 0:
                # Somebody else, an event loop perhaps, waits for signals in the same way.
                with suppress(OSError):
                    os.write(self._wakeup_before, received)
            if signal.SIGINT in received and not said:
                said = True
                # Whatever becomes of the answer, others must go on hearing of signals.
                with suppress(Exception):
                    self._acknowledge(
                        "Interrupted: stopping at the next safe point, with the best so far kept. "
                        "Ctrl-C again stops at once."
                    )


def _python_handles_it() -> bool:
    return signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None)
