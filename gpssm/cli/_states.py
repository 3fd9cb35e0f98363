"""`--states 1:6`: numbers of states compared by free runs over parts of the training data that were held out."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpssm.cli._methods import Entry, Flags
from gpssm.data import Episodes
from gpssm.evaluate import Selection, select
from gpssm.files import Checkpoints
from gpssm.files._atomic import write_atomically
from gpssm.fitting import FitError, Progress


def compare_states(
    entry: Entry, choices: range, flags: Flags, train: Episodes, *, progress: Progress, folder: Path | None, seed: int
) -> Selection:
    """The method with each number of states, judged on folds of the training data."""
    # What would not change which number wins is left out: other seeds, and a network that follows the model.
    quick = {name: value for name, value in (("tries", 1), ("network", 0)) if name in entry.uses}
    methods = {name: entry.make(states, replace(flags, **quick)) for states, name in _names(choices).items()}
    kept = None if folder is None else Checkpoints(folder)
    return select(methods, train, seeds=1, progress=progress, checkpoints=kept, seed=seed)


def winner(selection: Selection, choices: range) -> int:
    """The number of states to use: the smallest that is about as good as the best."""
    if selection.winner is None:
        reasons = sorted({trial.failed for trial in selection.trials if trial.failed})
        raise FitError(f"no number of states could be fitted: {'; '.join(reasons)}")
    return next(states for states, name in _names(choices).items() if name == selection.winner)


def candidates(selection: Selection, choices: range) -> list[dict[str, Any]]:
    """The averages of each number of states, for machines."""
    numbers = ("value", "value_se", "log_density", "error", "fit_percent", "coverage95", "failed")
    rows = zip(choices, selection.rows(), strict=True)
    return [{"states": states, **{name: getattr(row, name) for name in numbers}} for states, row in rows]


def draw(selection: Selection, choices: range, path: Path) -> None:
    """The scores as a figure."""
    # Only needed for a range of states, and slow to import.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    known = {states: row for states, row in zip(choices, selection.rows(), strict=True) if not row.failed}
    values, errors = [row.value for row in known.values()], [row.value_se for row in known.values()]
    axes.errorbar(list(known), values, yerr=errors, fmt="o-", capsize=3)
    chosen = winner(selection, choices)
    axes.plot(chosen, known[chosen].value, "o", ms=12, mfc="none", color="C3", label="chosen")
    axes.set(xlabel="number of states", ylabel="(log density - log error) / 2, held out", xticks=list(choices))
    axes.legend()
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=130)
    write_atomically(path, image.getvalue())


def _names(choices: range) -> dict[int, str]:
    return {states: counted(states) for states in choices}


def counted(states: int) -> str:
    """A number of states in words."""
    return f"{states} state{'s' if states > 1 else ''}"
