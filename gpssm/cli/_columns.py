"""Which columns play which part, for commands that read records before there is a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gpssm.cli._options import split_names
from gpssm.cli._outcome import UsageError
from gpssm.cli._reading import Reading, apart
from gpssm.data import Episodes
from gpssm.readers import read

Several = Annotated[list[str] | None, Parameter(negative=(), consume_multiple=True)]


@Parameter(name="*")
@dataclass(frozen=True)
class Columns:
    """Which columns of the files play which part."""

    outputs: Annotated[
        Several, Parameter(help="Measured columns, separated by blanks or commas. Empty cells are missing.")
    ] = None
    inputs: Annotated[Several, Parameter(help="Columns that act on the system, separated by blanks or commas.")] = None

    def files(self, files: Sequence[Path]) -> list[Path]:
        """All files, also those that stand behind the names of columns."""
        _, listed = apart(self.outputs, files)
        _, listed = apart(self.inputs, listed)
        if not listed:
            raise UsageError("no file is named; say which files hold the records, as in data/*.csv")
        return listed

    def read(self, files: Sequence[Path], reading: Reading) -> Episodes:
        """The records in the files."""
        listed = self.files(files)
        outputs, inputs = (split_names(apart(names, ())[0]) for names in (self.outputs, self.inputs))
        if not outputs:
            raise UsageError("--outputs is missing; name the measured columns, as in --outputs angle speed")
        return read(listed, outputs=outputs, inputs=inputs, **reading.given())
