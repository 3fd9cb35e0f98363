"""The work behind `gpssm fit`: a choice of the number of states, if there is one, and the fit."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpssm._core._devices import Devices
from gpssm._core._distributed import broadcast_from_first
from gpssm.cli._methods import Entry, Flags
from gpssm.cli._states import compare_states, counted, winner
from gpssm.cli._stop import Unfinished
from gpssm.data import Episodes
from gpssm.evaluate import Selection
from gpssm.files import Checkpoints
from gpssm.fitting import Fit, Progress
from gpssm.fitting._interrupt import InterruptedFitError
from gpssm.methods import fit


@dataclass(frozen=True)
class Task:
    """What is to be learnt, from what, and where it goes."""

    train: Episodes
    held_out: Episodes | None
    method: str
    entry: Entry
    states: range
    asked: bool
    """Whether the user named the states, or whatever needs a number takes the usual one."""
    flags: Flags
    seed: int
    output: Path
    folder: Path
    """For checkpoints."""
    report: bool
    settings: dict[str, Any]
    """What is remembered with the model."""
    unfinished: Unfinished
    """What there is to say if it is broken off."""

    def beside(self, ending: str) -> Path:
        """A file next to the model."""
        return self.output.with_name(f"{self.output.stem}{ending}")


@dataclass(frozen=True)
class Learnt:
    """What came out."""

    fit: Fit
    states: range
    """One number, unless the method makes use of several."""
    choice: Selection | None
    """How the number of states was chosen, if it was."""


def learn(task: Task, devices: Devices | None, progress: Progress) -> Learnt:
    """The fit, after a comparison of numbers of states if there are several to choose from.

    Raises `InterruptedFitError` where that comparison was interrupted: there is no model then.
    """
    states, choice = task.states, None
    if len(states) > 1 and task.entry.several is None:
        # Every process compares, because nothing of it is shared, but one of them decides and writes.
        folder = task.folder / "states" if devices is None or devices.is_first else None
        choice = compare_states(
            task.entry, states, task.flags, task.train, progress=progress, folder=folder, seed=task.seed
        )
        told = broadcast_from_first(b"" if choice.interrupted else str(winner(choice, states)).encode())
        if not told:
            raise InterruptedFitError
        progress.say(f"{choice.table()}\nchosen: {counted(int(told))}, of {states[0]} to {states[-1]}")
        states = range(int(told), int(told) + 1)
    several = task.entry.several
    own = None if task.entry.chooses and not task.asked else states
    method = several(own, task.flags) if several is not None else task.entry.make(states[0], task.flags)
    made = fit(
        task.train,
        method,
        validation=task.held_out,
        progress=progress,
        checkpoints=Checkpoints(task.folder),
        devices=devices,
        seed=task.seed,
    )
    return Learnt(made, states, choice)
