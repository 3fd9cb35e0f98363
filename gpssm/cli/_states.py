"""`--states 1:6`: fit each number of states and keep the one that predicts held-out data best."""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from gpssm._core._devices import Devices
from gpssm._core._result import Result
from gpssm.cli._score import Scores, free_run_scores
from gpssm.cli._train import Recipe, ending, learn, shown
from gpssm.data import Episodes
from gpssm.files._atomic import write_atomically
from gpssm.predict import System


@dataclass(frozen=True)
class Candidate:
    """A model with its number of states; no scores if its fit was broken off."""

    states: int
    seed: int
    system: System
    scores: Scores | None
    result: Result


def try_each(
    choices: range,
    train: Episodes,
    held_out: Episodes,
    recipe: Recipe,
    folder: Path,
    screen: Console,
    devices: Devices | None = None,
) -> list[Candidate]:
    """A candidate for each number of states; stops at the first that was interrupted."""
    tried = []
    for states in choices:
        with shown(screen, title=f"{states} state{'s' if states > 1 else ''}") as progress:
            system = learn(train, held_out, states, recipe, folder / f"states-{states}", progress, devices)
        result = ending(system)
        scores = None if result is Result.interrupted else free_run_scores(system, held_out, seed=recipe.seed)
        tried.append(Candidate(states, recipe.seed, system, scores, result))
        if scores is None:
            break
    return tried


def best(tried: list[Candidate]) -> Candidate:
    """The candidate with the highest held-out log density; fewer states where scores are equal."""
    return max(tried, key=lambda candidate: _density(candidate))


def _density(candidate: Candidate) -> float:
    density = -np.inf if candidate.scores is None else candidate.scores.log_density
    return -np.inf if np.isnan(density) else density


def show(tried: list[Candidate], screen: Console) -> None:
    """The scores as a table."""
    table = Table("states", "log density", "RMSE", "fit %", "in 95 % band", title="Free runs over the held-out part")
    chosen = best(tried)
    for candidate in tried:
        if candidate.scores is not None:
            s, mark = candidate.scores, " *" if candidate is chosen else ""
            numbers = (f"{s.log_density:.3f}", f"{s.rmse:.4g}", f"{s.fit_percent:.1f}", f"{100 * s.coverage95:.1f} %")
            table.add_row(f"{candidate.states}{mark}", *numbers)
    screen.print(table)


def draw(tried: list[Candidate], path: Path) -> None:
    """The scores as a figure."""
    # Only needed for a range of states, and slow to import.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.plot([c.states for c in tried], [_density(c) for c in tried], "o-")
    axes.plot(best(tried).states, _density(best(tried)), "o", ms=12, mfc="none", color="C3", label="chosen")
    axes.set(xlabel="number of states", ylabel="held-out log density per sample", xticks=[c.states for c in tried])
    axes.legend()
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=130)
    write_atomically(path, image.getvalue())
