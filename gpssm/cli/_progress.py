"""Training as it is seen on a terminal: a bar with the bound, the held-out score and the time left."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

from rich.console import Console as Screen
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from gpssm.cli._outcome import tell, visible
from gpssm.cli._remarks import already_told
from gpssm.fitting import Console, Silent, Status
from gpssm.fitting import Progress as Watcher


@contextmanager
def shown(screen: Screen) -> Iterator[Watcher]:
    """Progress as bars on a terminal, as the library's own lines elsewhere, not at all for machines."""
    if screen.quiet:
        yield Silent()
    elif screen.is_terminal:
        with Bars(screen) as bars:
            yield Unheard(bars)
    else:
        yield Unheard(Lines())


class Lines:
    """The library's own lines, without what the command has told already."""

    def __init__(self) -> None:
        self._lines = Console()

    def update(self, status: Status) -> None:
        """A run of steps was made."""
        self._lines.update(status)

    def say(self, message: str) -> None:
        """Something worth a line happened."""
        if not already_told(message):
            self._lines.say(visible(message))


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


class Bars:
    """One bar for each stage of a fit."""

    def __init__(self, console: Screen):
        self._progress = Progress(
            TextColumn("{task.description:>12}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[facts]}", markup=False),
            TimeElapsedColumn(),
            console=console,
        )
        self._console = console
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def update(self, status: Status) -> None:
        """A run of steps was made."""
        task = self._bars.get(status.stage)
        if task is None or status.step < self._done(task):
            # A stage of the same name that begins anew is another one: the next seed, or the next member of a mixture.
            task = self._progress.add_task(status.stage, total=status.total, facts="")
            self._bars[status.stage] = task
        facts = f"{status.label} {status.bound:+.4f}"
        if status.held_out is not None:
            facts += f"  held out {status.held_out:+.4f}"
        facts += f"  {status.eta:.0f} s left"
        self._progress.update(task, completed=status.step, total=status.total, facts=facts)

    def say(self, message: str) -> None:
        """Something worth a line happened."""
        if not already_told(message):
            tell(self._console, message)

    def _done(self, task: TaskID) -> float:
        return float(next(entry.completed for entry in self._progress.tasks if entry.id == task))
