"""No pool at all."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar, final

from gpssm.pools._base import AbstractPool, Lost

T = TypeVar("T")
R = TypeVar("R")


@final
@dataclass(frozen=True)
class Serial(AbstractPool):
    """One task after the other, in this process."""

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R | Lost]]:
        """In the order of the tasks."""
        for i, task in enumerate(tasks):
            yield i, function(task)
