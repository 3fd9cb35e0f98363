"""Checkpoints of a fit over several processes: the first one reads and writes them and tells the others."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from gpssm._core._distributed import broadcast_from_first
from gpssm.fitting._store import Found, Keeper, Store, Tensors


class Leader:
    """In the first process: a run that tells the others what it finds."""

    def __init__(self, run: Store):
        self._run = run
        self.checkpoints = run.checkpoints
        self.troubled = False

    def newest(self, stage: str) -> Found | None:
        """The latest good checkpoint within a stage."""
        return _tell(self._run.newest(stage))

    def finished(self, stage: str) -> Found | None:
        """The end of a stage, if it was reached."""
        return _tell(self._run.finished(stage))

    def write(self, stage: str, step: int, rollbacks: int, content: Mapping[str, Any], tensors: Tensors) -> None:
        """Store a state within a stage."""
        self._run.write(stage, step, rollbacks, content, tensors)

    def write_end(self, stage: str, content: Mapping[str, Any], tensors: Tensors) -> None:
        """Store the end of a stage."""
        self._run.write_end(stage, content, tensors)


class Follower:
    """In all other processes: a run that listens, and writes nothing."""

    def __init__(self, checkpoints: Keeper):
        self.checkpoints = checkpoints
        self.troubled = False

    def newest(self, stage: str) -> Found | None:
        """What the first process has found."""
        return _hear()

    def finished(self, stage: str) -> Found | None:
        """What the first process has found."""
        return _hear()

    def write(self, stage: str, step: int, rollbacks: int, content: Mapping[str, Any], tensors: Tensors) -> None:
        """The first process does."""

    def write_end(self, stage: str, content: Mapping[str, Any], tensors: Tensors) -> None:
        """The first process does."""


def _tell(found: Found | None) -> Found | None:
    broadcast_from_first(b"" if found is None else _pack(*found))
    return found


def _hear() -> Found | None:
    message = broadcast_from_first(b"")
    return _unpack(message) if message else None


def _pack(content: dict[str, Any], tensors: Tensors) -> bytes:
    words = np.frombuffer(json.dumps(content).encode(), np.uint8)
    # Making an array contiguous would give a scalar an axis.
    arrays = {f"tensor {name}": np.ascontiguousarray(a).reshape(np.shape(a)) for name, a in tensors.items()}
    return save({"words": words, **arrays})


def _unpack(message: bytes) -> Found:
    arrays = load(message)
    content = json.loads(arrays.pop("words").tobytes())
    return content, {name.removeprefix("tensor "): array for name, array in arrays.items()}
