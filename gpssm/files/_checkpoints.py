"""Checkpoints: the states of a running fit in a folder, from which the same fit goes on."""

import errno
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpssm._core._errors import FileError, ResumeError, StorageError, UnknownVersionError, storage_error
from gpssm.files._container import read, read_header, write
from gpssm.files._lock import Lock
from gpssm.files._place import place
from gpssm.files._tensors import Tensors
from gpssm.fitting._identity import differences

log = logging.getLogger("gpssm")

KIND = "checkpoint"
# What the system says of a link, a pipe or a folder that somebody has put in the place of a checkpoint.
_NO_FILE = {errno.ELOOP, errno.ENODEV, errno.EISDIR}
_NAME = re.compile(r"(?P<stage>.+)-(?P<step>\d{9})-(?P<rollbacks>\d{3})\.ckpt")


@dataclass(frozen=True)
class Checkpoints:
    """Where and how often a fit leaves its state on disk.

    To go on after a crash, a kill or Ctrl-C, call the same function again with the same arguments and the same folder:
    the result has the same bits as that of a fit that was never interrupted. A fit with other data, settings, seed or
    versions is refused with a `ResumeError`; stages that had already ended are not repeated.
    """

    folder: str | os.PathLike[str]
    """Made if it does not exist; the folder above it must."""
    every_seconds: float | None = 30.0
    every_steps: int | None = None
    """Checkpoints are written when either has passed: after a run of 50 steps of Adam, or an iteration of L-BFGS."""
    keep: int = 3
    """How many to keep of each stage. If the newest turns out to be damaged, the one before it is used."""

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError(f"keep={self.keep}: keep at least one checkpoint")
        if self.every_seconds is None and self.every_steps is None:
            raise ValueError("give every_seconds or every_steps, or both")

    @contextmanager
    def open(self, identity: Mapping[str, str]) -> Iterator["Folder"]:
        """The folder for one fit, locked against a second writer."""
        folder = place(self.folder)
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise storage_error("make the folder", folder, error) from error
        lock = Lock(folder / "lock")
        try:
            run = Folder(self, folder, dict(identity))
            run.check()
            run.tidy()
            yield run
        finally:
            lock.release()


class Folder:
    """The checkpoints of one fit."""

    def __init__(self, checkpoints: Checkpoints, folder: Path, identity: dict[str, str]):
        self.checkpoints = checkpoints
        self._folder = folder
        self._identity = identity
        self.troubled = False
        """Whether a checkpoint could not be written."""

    def check(self) -> None:
        """Refuse a folder that belongs to another fit."""
        for path in sorted(self._folder.glob("*.ckpt")):
            try:
                then = read_header(path, KIND, follow=False).content.get("identity")
            except UnknownVersionError:
                raise
            except FileError:
                continue  # damaged ones are reported when they are needed
            except StorageError as error:
                if error.errno not in _NO_FILE:
                    raise
                continue
            changed = differences(then if isinstance(then, dict) else {}, self._identity)
            if changed:
                raise ResumeError(
                    f"{self._folder} holds checkpoints of another fit. What differs: {'; '.join(changed)}. Go on with "
                    "the same arguments as before, or choose another folder (or empty this one) to begin anew"
                )

    def tidy(self) -> None:
        """Remove what killed writers have left half-written. Only the holder of the lock may."""
        for path in self._folder.glob(".*.ckpt.*.tmp"):
            with suppress(OSError):
                path.unlink()

    def newest(self, stage: str) -> tuple[dict[str, Any], Tensors] | None:
        """The latest good checkpoint within a stage."""
        for path in reversed(self._within(stage)):
            found = self._read(path)
            if found is not None:
                return found
        return None

    def finished(self, stage: str) -> tuple[dict[str, Any], Tensors] | None:
        """The end of a stage, if it was reached."""
        path = self._folder / f"{stage}.ckpt"
        return self._read(path) if path.exists() else None

    def write(self, stage: str, step: int, rollbacks: int, content: Mapping[str, Any], tensors: Tensors) -> None:
        """Store a state within a stage and drop what is older than the last few."""
        self._write(f"{stage}-{step:09d}-{rollbacks:03d}.ckpt", content, tensors)
        for old in self._within(stage)[: -self.checkpoints.keep]:
            try:
                old.unlink(missing_ok=True)
            except OSError as error:
                raise storage_error("remove", old, error) from error

    def write_end(self, stage: str, content: Mapping[str, Any], tensors: Tensors) -> None:
        """Store the end of a stage. It stays until the folder is removed."""
        self._write(f"{stage}.ckpt", content, tensors)

    def _write(self, name: str, content: Mapping[str, Any], tensors: Tensors) -> None:
        write(self._folder / name, KIND, {"identity": self._identity, **content}, tensors, follow=False)

    def _within(self, stage: str) -> list[Path]:
        """Oldest first; names sort by step."""
        matched = ((path, _NAME.fullmatch(path.name)) for path in sorted(self._folder.iterdir()))
        return [path for path, match in matched if match is not None and match["stage"] == stage]

    def _read(self, path: Path) -> tuple[dict[str, Any], Tensors] | None:
        try:
            header, tensors = read(path, KIND, follow=False)
        except (FileError, StorageError) as error:
            log.warning("checkpoint %s cannot be used, trying the one before it: %s", path.name, error)
            return None
        return header.content, tensors
