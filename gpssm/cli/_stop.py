"""How a command ends when it is asked to: by Ctrl-C, by a scheduler, or by a connection that is closed."""

import os
import select
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gpssm._core._interrupt import OTHERS, Interruption
from gpssm.cli._outcome import Code, to_json

NOTHING = "interrupted before there was anything to save"
NOTHING_CODE = 130


@dataclass(frozen=True)
class Unfinished:
    """A fit that may be broken off at any moment, and what there is to say then."""

    folder: Path
    """Of its checkpoints."""
    again: str
    """The command, for people who want to go on."""
    json: bool

    @property
    def kept(self) -> bool:
        """Whether there is anything to go on from. In the first moments there is not."""
        return self.folder.is_dir() and any(self.folder.rglob("*.ckpt"))

    @property
    def go_on(self) -> str:
        """The command that goes on, or begins anew."""
        return self.again if self.again.endswith("--resume") or not self.kept else f"{self.again} --resume"

    def facts(self) -> dict[str, Any]:
        """The same for machines."""
        return {"interrupted": True, "go_on": self.go_on, "checkpoint": self.kept}

    def give_up(self) -> NoReturn:
        """End the process in the middle of something that does not listen, such as a compiler."""
        if not self.kept:
            with suppress(OSError):
                (self.folder / "lock").unlink(missing_ok=True)
                self.folder.rmdir()
            end_now(NOTHING_CODE, {"error": NOTHING}, NOTHING, self.json)
        said = f"Interrupted in the middle of a step. What was finished is kept in {self.folder}."
        end_now(Code.interrupted, self.facts(), f"{said} To go on:\n  {self.go_on}", self.json)


def end_now(code: int, facts: dict[str, Any], text: str, json: bool) -> NoReturn:
    """Say how it ended and end, while another thread is busy."""
    with suppress(Exception):
        if json:
            print(to_json({"exit_code": int(code), **facts}), flush=True)
        else:
            # A bar that was being drawn has hidden the cursor.
            print(f"{chr(27) + '[?25h' if sys.stderr.isatty() else ''}{text}", file=sys.stderr, flush=True)
    leave(code)


def leave(code: int) -> NoReturn:
    """End without tidying up."""
    with suppress(Exception):
        sys.stderr.flush()
    os._exit(int(code))


def answer(message: str) -> None:
    """Acknowledge, also where a machine reads the results: beside them, at once."""
    _leave_lost_terminal()
    print(message, file=sys.stderr, flush=True)


def stoppable(arguments: list[str]) -> Interruption:
    """For a whole command, before it has anything to lose.

    Schedulers, `docker stop` and closed connections ask to end in other ways than Ctrl-C and mean the same. One process
    of several cannot end gently by itself: the others would wait for it.
    """
    if "--distributed" in arguments:
        return Interruption(answer)
    for number in OTHERS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    machine = "--json" in arguments
    return Interruption(
        answer, at_once=True, give_up=lambda: end_now(NOTHING_CODE, {"error": NOTHING}, f"gpssm: {NOTHING}", machine)
    )


def hear_no_more() -> None:
    """Everything is said and written; another signal would only break off the tidying up."""
    for number in (signal.SIGINT, *OTHERS):
        signal.signal(number, signal.SIG_IGN)


def _leave_lost_terminal() -> None:
    """Where the connection is closed, every word to the terminal would be an error."""
    for descriptor in (1, 2):
        poll = select.poll()
        poll.register(descriptor, 0)
        with suppress(OSError):
            if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0)):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, descriptor)
                os.close(nowhere)
