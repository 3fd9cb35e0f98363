"""What a pool must answer."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar, final

T = TypeVar("T")
R = TypeVar("R")


@final
@dataclass(frozen=True)
class Lost:
    """In place of a result: the process that was to compute it has died."""

    reason: str

    def __str__(self) -> str:
        return self.reason


class AbstractPool(ABC):
    """Runs independent tasks."""

    @abstractmethod
    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R | Lost]]:
        """The number and the result of each task, as they come. What the function raises is raised here."""
