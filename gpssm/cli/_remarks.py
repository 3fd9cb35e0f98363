"""What the library logs while a command runs: shown once, beside the results, and listed for machines."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from gpssm.cli._outcome import side, tell

LOGGER = logging.getLogger("gpssm")


class Remarks(logging.Handler):
    """Warnings as sentences. Names in them come from files of others, and are shown without control characters."""

    def __init__(self, *, json: bool) -> None:
        super().__init__(logging.WARNING)
        self._json = json
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Tell a warning once."""
        message = record.getMessage()
        if message not in self.messages:
            self.messages.append(message)
            tell(side(json=self._json), message, mark="Note:", style="yellow")


@contextmanager
def remarks(*, json: bool) -> Iterator[Remarks]:
    """Hear what is logged while a command runs."""
    heard = Remarks(json=json)
    LOGGER.addHandler(heard)
    try:
        yield heard
    finally:
        LOGGER.removeHandler(heard)


def already_told(message: str) -> bool:
    """Whether a warning was shown by the command that runs: progress need not repeat it."""
    return any(isinstance(handler, Remarks) and message in handler.messages for handler in LOGGER.handlers)
