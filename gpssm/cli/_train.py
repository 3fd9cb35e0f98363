"""The work behind `gpssm fit`: one fit, or one for each number of states, each with checkpoints."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jax.random as jr
from rich.console import Console as Screen

from gpssm._core._devices import Devices
from gpssm._core._result import Result
from gpssm.cli._outcome import UsageError
from gpssm.cli._progress import Bars
from gpssm.data import Episodes
from gpssm.files import Checkpoints
from gpssm.fitting._progress import Console, Progress, Silent
from gpssm.kernels import kernel_from_words
from gpssm.methods._identify import identify
from gpssm.predict import System


@dataclass(frozen=True)
class Recipe:
    """All settings of a fit but the number of states."""

    kernel: str
    inducing: int
    hidden: int
    steps: int
    polish: int
    network: int
    seed: int


def check_kernel(words: str) -> None:
    """Refuse words that name no kernel before anything is computed."""
    try:
        kernel_from_words(words, dims=1)
    except ValueError as error:
        raise UsageError(f"--{error}") from error


def learn(
    train: Episodes,
    held_out: Episodes | None,
    states: int,
    recipe: Recipe,
    folder: Path,
    progress: Progress,
    devices: Devices | None = None,
) -> System:
    """One fit, which goes on from its checkpoints if there are any."""
    return identify(
        train,
        states=states,
        kernel=kernel_from_words(recipe.kernel, dims=states + train.num_inputs),
        num_inducing=recipe.inducing,
        hidden=recipe.hidden,
        steps=recipe.steps,
        iterations=recipe.polish,
        network_steps=recipe.network,
        held_out=held_out,
        progress=progress,
        checkpoints=Checkpoints(folder),
        devices=devices,
        key=jr.key(recipe.seed),
    )


def ending(system: System) -> Result:
    """How a fit ended, told by its record."""
    events = [] if system.history is None else system.history.events
    for result in (Result.interrupted, Result.diverged):
        if any(f": {result.value}" in event for event in events):
            return result
    return Result.finished


@contextmanager
def shown(screen: Screen, *, title: str = "") -> Iterator[Progress]:
    """Progress as bars on a terminal, as lines elsewhere, not at all for machines."""
    if screen.quiet:
        yield Silent()
    elif screen.is_terminal:
        with Bars(screen, title=title) as bars:
            yield bars
    else:
        if title:
            screen.print(title)
        yield Console()
