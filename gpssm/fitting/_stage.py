"""A stage of a fit: what it shows, its checkpoints, its end, and how it goes on."""

import logging
import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gpssm._core._activity import note
from gpssm._core._compiler_clock import compiler_seconds
from gpssm._core._devices import Devices
from gpssm._core._errors import FileError, StorageError
from gpssm._core._history import History
from gpssm._core._result import Result
from gpssm.fitting._interrupt import Interruption
from gpssm.fitting._leaves import fill, named_leaves
from gpssm.fitting._progress import Progress, Status
from gpssm.fitting._record import history_from, history_to
from gpssm.fitting._store import Store, Tensors

log = logging.getLogger("gpssm")
T = TypeVar("T")
RECORD = "record"
"""The name of an array that is not of one length for all steps."""


class Resumed(NamedTuple):
    """Where a stage stood at its last good checkpoint."""

    state: Any
    step: int
    rollbacks: int
    history: History
    record: np.ndarray | None = None
    """What is not of one length for all steps."""


@dataclass
class Stage:
    """Records one stage. A disk that refuses is reported once and never stops training."""

    name: str
    shown: str
    store: Store | None
    progress: Progress
    devices: Devices | None
    interruption: Interruption

    def __post_init__(self) -> None:
        self._began = self._last_time = time.monotonic()
        self._first_step = self._last_step = 0
        note(self.shown)

    def update(self, status: Status) -> None:
        """A sign of life. A progress that raises `KeyboardInterrupt` asks for the end, as Ctrl-C does.

        The pace is that of the steps made here, without what the compiler took: it is told by the time that is left.
        """
        made, spent = status.step - self._first_step, time.monotonic() - self._began
        stepping = spent - compiler_seconds(self._began)
        status = replace(status, steps_per_second=made / stepping) if made > 0 and stepping > 0.0 else status
        try:
            self.progress.update(status)
        except KeyboardInterrupt as stopped:
            self.interruption.heard(stopped)

    def say(self, message: str) -> None:
        """Something worth a line happened."""
        self.progress.say(message)

    def check(self) -> None:
        """A safe point: ends the stage if the user wants that."""
        self.interruption.check()

    def finished(self, skeleton: T) -> tuple[T, History, Result] | None:
        """How the stage ended, if it has ended before."""
        if self.store is None:
            return None
        return self._filled(self.store.finished(self.name), skeleton, lambda c: Result[c["result"]])

    def resume(self, skeleton: object) -> Resumed | None:
        """Where the stage stood at the last good checkpoint."""
        if self.store is None:
            return None
        newest = self.store.newest(self.name)
        found = self._filled(newest, skeleton, lambda c: (int(c["step"]), int(c["rollbacks"])))
        if found is None or newest is None:
            return None
        state, history, (step, rollbacks) = found
        self._first_step = self._last_step = step
        history.events.append(f"{self.shown}: went on from the checkpoint at step {step}")
        self.say(history.events[-1])
        return Resumed(state, step, rollbacks, history, newest[1].get(RECORD))

    def is_due(self, step: int) -> bool:
        """Whether it is time for a checkpoint."""
        if self.store is None:
            return False
        often = self.store.checkpoints
        late = often.every_seconds is not None and time.monotonic() - self._last_time >= often.every_seconds
        return late or (often.every_steps is not None and step - self._last_step >= often.every_steps)

    def keep(self, state: Any, step: int, history: History, *, rollbacks: int = 0) -> None:
        """Write a checkpoint if one is due."""
        if self.is_due(step):
            self.write(state, step, history, rollbacks=rollbacks)

    def write(
        self, state: Any, step: int, history: History, *, rollbacks: int = 0, record: np.ndarray | None = None
    ) -> None:
        """Write a checkpoint now."""
        if self.store is None:
            return
        # An interruption may have come between two entries of the history.
        content, tensors = _with_history(_first_steps(history, step), {"step": step, "rollbacks": rollbacks})
        tensors |= named_leaves(state, "state") | ({} if record is None else {RECORD: record})
        try:
            self.store.write(self.name, step, rollbacks, content, tensors)
        except (StorageError, FileError) as error:
            self._complain(error, history)
        self._last_time, self._last_step = time.monotonic(), step

    def end(self, tree: Any, history: History, result: Result) -> None:
        """Write the end of the stage. An interrupted stage has none."""
        if self.store is None or result is Result.interrupted:
            return
        content, tensors = _with_history(history, {"result": result.name})
        try:
            self.store.write_end(self.name, content, tensors | named_leaves(tree, "state"))
        except (StorageError, FileError) as error:
            self._complain(error, history)

    def _filled(self, found: tuple[dict[str, Any], Tensors] | None, skeleton: object, read: Any) -> Any:
        if found is None:
            return None
        content, tensors = found
        try:
            return fill(skeleton, tensors, "state"), history_from(content["history"], tensors), read(content)
        except (FileError, KeyError, TypeError, ValueError) as error:
            log.warning("a checkpoint of stage %s does not fit this training and is not used: %s", self.name, error)
            return None

    def _complain(self, error: Exception, history: History) -> None:
        assert self.store is not None
        if not self.store.troubled:
            self.store.troubled = True
            message = f"training goes on without checkpoints until the disk takes them: {error}"
            log.warning(message)
            history.events.append(message)
            self.say(message)


def _with_history(history: History, content: dict[str, Any]) -> tuple[dict[str, Any], Tensors]:
    record, tensors = history_to(history)
    return {**content, "history": record}, tensors


def _first_steps(history: History, steps: int) -> History:
    return replace(
        history,
        bound=history.bound[:steps],
        terms={name: values[:steps] for name, values in history.terms.items()},
        process_noise=None if history.process_noise is None else history.process_noise[:steps],
        measurement_noise=None if history.measurement_noise is None else history.measurement_noise[:steps],
        gradient_norm=history.gradient_norm[:steps],
        held_out=[(step, score) for step, score in history.held_out if step <= steps],
    )
