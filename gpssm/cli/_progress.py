"""Training as it is seen on a terminal: a bar with the bound, the held-out score and the time left."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from gpssm.fitting._progress import Status


class Bars:
    """One bar for each stage of a fit. Where there is no terminal, the library's own lines are used instead."""

    def __init__(self, console: Console, *, title: str = ""):
        self._progress = Progress(
            TextColumn("{task.description:>9}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[facts]}"),
            TimeElapsedColumn(),
            console=console,
        )
        self._console, self._title = console, title
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> "Bars":
        self._progress.start()
        if self._title:
            self._console.print(self._title)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def update(self, status: Status) -> None:
        """A run of steps was made."""
        if status.stage not in self._bars:
            self._bars[status.stage] = self._progress.add_task(status.stage, total=status.total, facts="")
        facts = f"ELBO/step {status.bound:+.4f}"
        if status.held_out is not None:
            facts += f"  held out {status.held_out:+.4f}"
        facts += f"  {status.eta:.0f} s left"
        self._progress.update(self._bars[status.stage], completed=status.step, total=status.total, facts=facts)

    def say(self, message: str) -> None:
        """Something worth a line happened."""
        self._console.print(message, markup=False)
