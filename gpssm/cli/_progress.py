"""Training as it is seen on a terminal: a bar with the bound, the held-out score and the time left."""

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from gpssm.fit import Report


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

    def update(self, report: Report) -> None:
        """A run of steps was made."""
        if report.stage not in self._bars:
            self._bars[report.stage] = self._progress.add_task(report.stage, total=report.total, facts="")
        facts = f"ELBO/step {report.bound:+.4f}"
        if report.held_out is not None:
            facts += f"  held out {report.held_out:+.4f}"
        facts += f"  {report.eta:.0f} s left"
        self._progress.update(self._bars[report.stage], completed=report.step, total=report.total, facts=facts)

    def say(self, message: str) -> None:
        """Something worth a line happened."""
        self._console.print(message, markup=False)
