"""What a fit needs of the place where its checkpoints are kept; `gpssm.files` has one."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

import numpy as np

Tensors = dict[str, np.ndarray]
Found = tuple[dict[str, Any], Tensors]


@runtime_checkable
class Store(Protocol):
    """The checkpoints of one fit, as those who record it see them."""

    troubled: bool

    @property
    def checkpoints(self) -> "Keeper":
        """Where and how often."""
        ...

    def newest(self, stage: str) -> Found | None:
        """The latest good checkpoint within a stage."""
        ...

    def finished(self, stage: str) -> Found | None:
        """The end of a stage, if it was reached."""

    def write(self, stage: str, step: int, rollbacks: int, content: Mapping[str, Any], tensors: Tensors) -> None:
        """Store a state within a stage."""

    def write_end(self, stage: str, content: Mapping[str, Any], tensors: Tensors) -> None:
        """Store the end of a stage."""


@runtime_checkable
class Keeper(Protocol):
    """Where and how often a fit leaves its state."""

    @property
    def every_seconds(self) -> float | None:
        """At the latest after this time."""
        ...

    @property
    def every_steps(self) -> int | None:
        """At the latest after this many steps."""
        ...

    def open(self, identity: Mapping[str, str]) -> AbstractContextManager[Store]:
        """The store of the fit that is described so; refuses one of another fit."""
        ...
