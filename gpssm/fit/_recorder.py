"""A stage of training on disk: its checkpoints, its end, and how it goes on."""

import logging
import time
from dataclasses import dataclass, replace
from typing import Any

from gpssm._history import History
from gpssm._result import Result
from gpssm.files import AnyRun, FileError, StorageError
from gpssm.files._container import Tensors
from gpssm.files._leaves import fill, named_leaves
from gpssm.files._record import history_from, history_to
from gpssm.fit._loop import Snapshot
from gpssm.fit._problem import Tree
from gpssm.fit._progress import Progress
from gpssm.fit._step import TrainState

log = logging.getLogger("gpssm")


@dataclass
class Recorder:
    """Writes one stage of a run. A disk that refuses is reported once and never stops training."""

    run: AnyRun
    stage: str

    def __post_init__(self) -> None:
        self._last_time, self._last_step = time.monotonic(), 0

    def finished(self, skeleton: Tree) -> tuple[Tree, History, Result] | None:
        """How the stage ended, if it has ended before."""
        return self._filled(self.run.finished(self.stage), skeleton, lambda c: Result[c["result"]])

    def resume(self, skeleton: TrainState) -> tuple[Snapshot, History] | None:
        """Where the stage stood at the last good checkpoint."""
        found = self._filled(self.run.newest(self.stage), skeleton, lambda c: (int(c["step"]), int(c["rollbacks"])))
        if found is None:
            return None
        state, history, (step, rollbacks) = found
        self._last_step = step
        return Snapshot(step, state, None, None, rollbacks), history

    def keep(self, snapshot: Snapshot, history: History, progress: Progress) -> None:
        """Write a checkpoint if one is due."""
        often = self.run.checkpoints
        late = often.every_seconds is not None and time.monotonic() - self._last_time >= often.every_seconds
        if late or (often.every_steps is not None and snapshot.step - self._last_step >= often.every_steps):
            self.write(snapshot, history, progress)

    def write(self, snapshot: Snapshot, history: History, progress: Progress) -> None:
        """Write a checkpoint now."""
        # An interruption may have come between two entries of the history.
        made = _first_steps(history, snapshot.step)
        content, tensors = _with_history(made, {"step": snapshot.step, "rollbacks": snapshot.rollbacks})
        tensors |= named_leaves(snapshot.state, "state")
        try:
            self.run.write(self.stage, snapshot.step, snapshot.rollbacks, content, tensors)
        except (StorageError, FileError) as error:
            self._complain(error, history, progress)
        self._last_time, self._last_step = time.monotonic(), snapshot.step

    def end(self, tree: Tree, history: History, result: Result, progress: Progress) -> None:
        """Write the end of the stage. An interrupted stage has none."""
        if result is Result.interrupted:
            return
        content, tensors = _with_history(history, {"result": result.name})
        try:
            self.run.write_end(self.stage, content, tensors | named_leaves(tree, "state"))
        except (StorageError, FileError) as error:
            self._complain(error, history, progress)

    def _filled(self, found: tuple[dict[str, Any], Tensors] | None, skeleton: object, read: Any) -> Any:
        if found is None:
            return None
        content, tensors = found
        try:
            return fill(skeleton, tensors, "state"), history_from(content["history"], tensors), read(content)
        except (FileError, KeyError, TypeError, ValueError) as error:
            log.warning("a checkpoint of stage %s does not fit this training and is not used: %s", self.stage, error)
            return None

    def _complain(self, error: Exception, history: History, progress: Progress) -> None:
        if not self.run.troubled:
            self.run.troubled = True
            message = f"training goes on without checkpoints until the disk takes them: {error}"
            log.warning(message)
            history.events.append(message)
            progress.say(message)


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
