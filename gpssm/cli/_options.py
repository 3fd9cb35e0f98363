"""Options that several commands share."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gpssm.cli._outcome import UsageError
from gpssm.data import Episodes
from gpssm.readers import CsvFormat, read

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON object for machines.")]
Out = Annotated[Path, Parameter(name=["--output", "-o"], help="File to write.")]
Config = Annotated[Path | None, Parameter(name="--config", help="TOML file with settings, in a table per command.")]
Model = Annotated[Path, Parameter(help="Model file written by gpssm fit.")]
Names = Annotated[list[str] | None, Parameter(negative=())]


@Parameter(name="*")
@dataclass(frozen=True)
class CsvOptions:
    """How text files are written."""

    delimiter: Annotated[str | None, Parameter(help="Character between columns, if it cannot be found out.")] = None
    decimal: Annotated[str, Parameter(help="Decimal sign, '.' or ','.")] = "."

    @property
    def style(self) -> CsvFormat:
        """For the readers."""
        return CsvFormat(self.delimiter, self.decimal)


@Parameter(name="*")
@dataclass(frozen=True)
class Columns:
    """Which columns of the files play which part."""

    outputs: Annotated[Names, Parameter(help="Measured columns, separated by commas. Empty cells are missing.")] = None
    inputs: Annotated[Names, Parameter(help="Columns that act on the system, separated by commas.")] = None
    time: Annotated[
        str | None, Parameter(help="Column of time stamps (numbers, or dates like 2024-01-31 12:00:00).")
    ] = None
    dt: Annotated[float | None, Parameter(help="Time between two rows, where there are no time stamps.")] = None
    episode: Annotated[str | None, Parameter(help="Column that tells several records in one file apart.")] = None
    resample: Annotated[float | None, Parameter(help="Bring unevenly sampled records to this time step.")] = None

    def read(self, files: Sequence[Path], text: CsvOptions) -> Episodes:
        """The records in the files."""
        if not files:
            raise UsageError("no file is named; say which files hold the records, as in data/*.csv")
        outputs = split_names(self.outputs)
        if not outputs:
            raise UsageError("--outputs is missing; name the measured columns, as in --outputs angle,speed")
        if self.time is not None and self.dt is not None:
            raise UsageError(
                "--time and --dt are both given; name the column of time stamps or the time step, not both"
            )
        return read(
            files,
            outputs=outputs,
            inputs=split_names(self.inputs),
            time=self.time,
            dt=self.dt,
            episode=self.episode,
            resample=self.resample,
            style=text.style,
        )


def split_names(given: Sequence[str] | None) -> tuple[str, ...]:
    """`a,b` and repeated flags alike."""
    return tuple(name.strip() for entry in given or () for name in entry.split(",") if name.strip())


def positive(value: int | float, flag: str) -> None:
    """Refuse what must be positive and is not."""
    if not value > 0:
        raise UsageError(f"{flag} is {value}; it must be positive")
