"""Ctrl-C as a wish: answered at once, carried out at the next safe point, so that nothing is lost half-way.

A signal handler of Python runs between two instructions of Python, and compiled programs and compilers take seconds
between them. The answer therefore comes from a thread that a byte in a pipe wakes: the interpreter writes it the moment
the signal arrives, whatever it is doing.

SIGTERM and SIGHUP, by which schedulers and closed connections ask for the end, are the same wish wherever the process
turns them into Ctrl-C, as the command does: `signal.signal(signal.SIGTERM, signal.default_int_handler)`.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

OTHERS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What may mean the same as Ctrl-C."""
WISH = "Interrupted: stopping at the next safe point, with the best so far kept. Ctrl-C again stops at once."
AT_ONCE = "Interrupted: stopping."
unbroken = threading.Lock()
"""Held while a file is written, so that nobody who ends the process leaves half of it."""


class InterruptedFitError(Exception):
    """The wish has been heard at a safe point. Never leaves the library."""


Stopped = (InterruptedFitError, KeyboardInterrupt)
"""What ends a search: the wish, or, where nobody has entered an `Interruption`, Ctrl-C itself."""


class Interruption:
    """While entered, the first Ctrl-C is a wish to stop soon, and the second stops at once.

    - `at_once`: the first stops at once as well, because there is nothing that could be lost half-way.
    - `give_up`: called, in another thread, if this is still entered `patience` seconds after the wish, because a
      compiler does not listen. It is to say what is kept and to end the process.

    One inside another shares its wish, and says for as long as it lasts how signals are taken and what to do in the
    end; only the owner of the process, who has entered the outermost one, decides whether it may be ended at all.
    Signals reach the main thread only; in any other thread this changes nothing.
    """

    _entered: "Interruption | None" = None

    def __init__(
        self,
        acknowledge: Callable[[str], None],
        *,
        at_once: bool = False,
        give_up: Callable[[], None] | None = None,
        patience: float = 6.0,
    ):
        self._acknowledge = acknowledge
        self._at_once, self._give_up, self._patience = at_once, give_up, patience
        self._inside: list[Interruption] = [self]
        self._outer: Interruption | None = None
        self._requested = False
        self._deaf = False
        self._before: dict[signal.Signals, Any] = {}

    @property
    def requested(self) -> bool:
        """Whether somebody wants this to end."""
        return self._requested if self._outer is None else self._outer.requested

    @staticmethod
    def wanted() -> bool:
        """Whether somebody wants what is being done in this process to end."""
        return Interruption._entered is not None and Interruption._entered.requested

    def request(self) -> None:
        """Ask for the end, as Ctrl-C does."""
        self._requested = True
        if self._outer is not None:
            self._outer.request()

    def too_late(self) -> None:
        """Everything is done and written: signals change nothing any more."""
        (self if self._outer is None else self._outer)._deaf = True

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
        here = threading.current_thread() is threading.main_thread()
        if Interruption._entered is not None:
            self._outer = Interruption._entered
            if here:
                self._outer._inside.append(self)
        elif here and (taken := _taken()):
            self._install(taken)
            Interruption._entered = self
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            Interruption._entered = None
            self._remove()
        elif self._outer is not None and self._outer._inside[-1] is self:
            self._outer._inside.pop()

    def _install(self, taken: list[signal.Signals]) -> None:
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        self._writer = writer
        self._before = {number: signal.signal(number, self._on_signal) for number in taken}
        self._wakeup_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        watch = (reader, frozenset(taken))
        self._watcher = threading.Thread(target=self._watch, args=watch, name="gpssm-interrupt", daemon=True)
        self._watcher.start()

    def _remove(self) -> None:
        signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._writer)
        # A terminal that takes no words keeps the watcher for ever; nobody else waits for it.
        self._watcher.join(timeout=2.0)
        self._before = {}

    def _on_signal(self, number: int, frame: FrameType | None) -> Any:
        if self._deaf:
            return
        again, self._requested = self._requested, True
        # Schedulers ask several times, in several ways; only from the keyboard does the second mean "at once".
        if number == signal.SIGINT if again else self._inside[-1]._at_once:
            raise KeyboardInterrupt

    @property
    def _is_over(self) -> bool:
        """Whether signals change nothing any more. A wish from before that is still one: its answer may come later than
        the end that it has led to."""
        return self._deaf and not self._requested

    def _watch(self, reader: int, about: frozenset[signal.Signals]) -> None:
        """Answer, tell others, and lose patience once."""
        said, until = False, None
        while True:
            left = None if until is None else max(until - time.monotonic(), 0.0)
            if not select.select([reader], [], [], left)[0]:
                until = None
                self._lose_patience()
                continue
            received = os.read(reader, 64)
            if not received:
                # Here, because whoever closes the other end may not wait until this has been read.
                os.close(reader)
                return
            if self._wakeup_before >= 0:
                # Somebody else, an event loop perhaps, waits for signals in the same way.
                with suppress(OSError):
                    os.write(self._wakeup_before, received)
            if not (said or self._is_over or about.isdisjoint(received)):
                said, until = True, time.monotonic() + self._patience
                # Whatever becomes of the answer, others must go on hearing of signals.
                with suppress(Exception):
                    self._acknowledge(AT_ONCE if self._inside[-1]._at_once else WISH)

    def _lose_patience(self) -> None:
        if self._give_up is None or self._deaf:
            return
        ways = [inside._give_up for inside in self._inside if inside._give_up is not None]
        with unbroken:
            ways[-1]()


def _taken() -> list[signal.Signals]:
    """The signals that Python turns into an exception, or somebody into a call. Those that are ignored stay so."""
    alike = [number for number in OTHERS if signal.getsignal(number) is signal.default_int_handler]
    ignored = signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None)
    return alike if ignored else [signal.SIGINT, *alike]
