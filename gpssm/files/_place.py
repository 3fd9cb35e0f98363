"""Names of files, looked at before the system sees them."""

import os
from pathlib import Path

from gpssm._core._errors import StorageError


def place(path: str | os.PathLike[str]) -> Path:
    """The path, unless it holds a zero byte, at which names end for the system."""
    named = Path(path)
    if "\0" in str(named):
        raise StorageError(f"{str(named)!r} cannot be the name of a file: it holds a zero byte; correct it")
    return named
