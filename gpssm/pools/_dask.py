"""Workers of a Dask cluster."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, final

from gpssm.pools._base import AbstractPool, Lost

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
R = TypeVar("R")


@final
@dataclass(frozen=True)
class DaskPool(AbstractPool):
    """The workers that a `distributed.Client` knows, on one machine or many; `pip install 'gpssm[cluster]'`.

    gpssm must be installed where they run. Start them with one thread each; where several share a machine, with
    OMP_NUM_THREADS=1 and NPROC=1.
    """

    client: "Client" = field(repr=False)

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R | Lost]]:
        """As they are done."""
        # Only needed here, and not installed with gpssm itself.
        from distributed import KilledWorker, as_completed

        futures = self.client.map(function, list(tasks), pure=False)
        numbers = {future.key: i for i, future in enumerate(futures)}
        try:
            for future in as_completed(futures):
                try:
                    yield numbers[future.key], future.result()
                except KilledWorker as error:
                    yield numbers[future.key], Lost(f"its worker died: {error}".splitlines()[0])
        finally:
            self.client.cancel(futures)
