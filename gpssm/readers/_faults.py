"""Everything that is wrong with a set of files, said at once: a user should not have to run a command once a fault."""

from collections.abc import Iterator
from contextlib import contextmanager

from gpssm.data import DataError

MOST = 25
"""Faults that are listed; more of them tell nothing new."""


class Faults:
    """Complaints as they are found; reading goes on to the next column or file."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Whatever is complained about here is kept, and does not stop the rest."""
        try:
            yield
        except DataError as error:
            self.add(str(error))

    def add(self, fault: str) -> None:
        """Keep a complaint, once."""
        if fault not in self._found:
            self._found.append(fault)

    def take(self, others: "Faults") -> None:
        """Keep those that were found elsewhere, too."""
        for fault in others._found:
            self.add(fault)

    def complain(self) -> None:
        """Raise all of them as one error, if there are any."""
        if len(self._found) == 1:
            raise DataError(self._found[0])
        if self._found:
            listed = [f"- {fault}" for fault in self._found[:MOST]]
            more = [f"- and {len(self._found) - MOST} more"] if len(self._found) > MOST else []
            raise DataError("\n".join([f"{len(self._found)} faults:", *listed, *more]))
