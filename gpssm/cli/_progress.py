"""A command as it is seen: on a terminal bars and a line that moves, elsewhere lines now and then, and nothing at all
for machines."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

from rich.console import Console as Screen
from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from gpssm._core._activity import clock, compiler, current, note
from gpssm._core._console import Console
from gpssm._core._progress import Progress as Watcher
from gpssm._core._progress import Silent, Status
from gpssm._core._ticker import alive
from gpssm.cli._outcome import tell, visible
from gpssm.cli._remarks import already_told

BEGAN = time.monotonic()
"""When the command began: all that is shown has the same clock."""


@contextmanager
def shown(screen: Screen) -> Iterator[Watcher]:
    """While entered, people see that something goes on and what it is. Results belong after it."""
    if screen.quiet:
        yield Silent()
    elif screen.is_terminal:
        with Bars(screen) as bars:
            yield Unheard(bars)
    else:
        lines = Lines()
        with alive(lines.console):
            yield Unheard(lines)


class Lines:
    """The library's own lines, without what the command has told already."""

    def __init__(self) -> None:
        self.console = Console(began=BEGAN)

    def update(self, status: Status) -> None:
        """A run of steps was made."""
        self.console.update(status)

    def say(self, message: str) -> None:
        """Something worth a line happened."""
        if not already_told(message):
            self.console.say(visible(message))


class Unheard:
    """Goes on where nobody listens any more: a terminal that was closed, or a pipe without a reader, is no reason to
    lose a fit."""

    def __init__(self, watcher: Watcher):
        self._watcher = watcher

    def update(self, status: Status) -> None:
        """A run of steps was made."""
        with suppress(OSError):
            self._watcher.update(status)

    def say(self, message: str) -> None:
        """Something worth a line happened."""
        with suppress(OSError):
            self._watcher.say(message)


class Moving(Progress):
    """Bars, and below them what is being done, with a clock. Drawn anew by a thread, whatever else goes on."""

    over = False

    def get_renderables(self) -> Iterable[RenderableType]:
        """What is drawn."""
        yield self.make_tasks_table(self.tasks)
        if not self.over:
            activity, busy = current(), compiler()
            what = "working" if activity is None else visible(activity.what)
            busy_with = "" if busy is None else f"  compiling for {clock(time.monotonic() - busy.since)}"
            text = f"{clock(time.monotonic() - BEGAN):>7}  {what}{busy_with}"
            yield Text(text, overflow="ellipsis", no_wrap=True)


class Bars:
    """One bar for the stage of a fit that is going on; those that are over are lines above it."""

    def __init__(self, console: Screen):
        self._progress = Moving(
            TextColumn("{task.description:>12}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[facts]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            refresh_per_second=4,
            # Results that somebody pipes into a file must not be taken for remarks.
            redirect_stdout=False,
        )
        self._console = console

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.over = True
        # A terminal that was closed is no reason to lose a fit.
        with suppress(OSError):
            self._progress.stop()

    def update(self, status: Status) -> None:
        """A run of steps was made."""
        bar = next(iter(self._progress.tasks), None)
        if bar is None or bar.description != status.stage or status.step < bar.completed:
            # One of the same name that begins anew is another one: the next seed, or the next member of a mixture.
            if bar is not None:
                self._put_away(bar)
            self._progress.add_task(status.stage, total=status.total, facts="")
        facts = f"{status.label} {status.bound:+.4f}"
        if status.held_out is not None:
            facts += f"  held out {status.held_out:+.4f}"
        facts += f"  {status.eta:.0f} s left"
        task = self._progress.tasks[0]
        self._progress.update(task.id, completed=status.step, total=status.total, facts=facts)

    def say(self, message: str) -> None:
        """Something worth a line happened."""
        note(message.splitlines()[-1] if message else "")
        if not already_told(message):
            stamped = message if "\n" in message else f"{clock(time.monotonic() - BEGAN):>7}  {message}"
            tell(self._console, stamped)

    def _put_away(self, bar: Task) -> None:
        """Leave the bar where it can be read, above what moves: many would not fit on the screen."""
        self._console.print(self._progress.make_tasks_table([bar]))
        self._progress.remove_task(bar.id)
