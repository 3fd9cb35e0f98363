"""Options that several commands share."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gpssm.cli._outcome import UsageError

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON object for machines.")]
Out = Annotated[Path, Parameter(name=["--output", "-o"], help="File to write.")]
Config = Annotated[Path | None, Parameter(name="--config", help="TOML file with settings, in a table per command.")]
Model = Annotated[Path, Parameter(help="Model file written by gpssm fit.")]
Names = Annotated[list[str] | None, Parameter(negative=())]


@Parameter(name="*")
@dataclass(frozen=True)
class Draws:
    """What a table of predictions holds beside mean and standard deviation."""

    samples: Annotated[int, Parameter(help="Sampled trajectories to write beside the moments.")] = 0
    quantiles: Annotated[Names, Parameter(help="Levels, by default 0.025,0.5,0.975.")] = None
    seed: Annotated[int, Parameter(help="Seed of the random numbers.")] = 0

    def check(self) -> None:
        """Refuse what cannot work."""
        not_negative(self.samples, "--samples")
        not_negative(self.seed, "--seed")
        self.levels()

    def levels(self) -> tuple[float, ...]:
        """Levels such as 0.025, 0.5, 0.975."""
        levels = []
        for word in (part for entry in self.quantiles or ("0.025,0.5,0.975",) for part in entry.split(",")):
            try:
                level = float(word)
            except ValueError:
                raise UsageError(f"--quantiles: {word!r} is not a number; write levels such as 0.05,0.5,0.95") from None
            if not 0.0 < level < 1.0:
                raise UsageError(
                    f"--quantiles: {word} does not lie between 0 and 1; write levels such as 0.05,0.5,0.95"
                )
            levels.append(level)
        return tuple(levels)


def split_names(given: Sequence[str] | None) -> tuple[str, ...]:
    """`a,b` and repeated flags alike."""
    return tuple(name.strip() for entry in given or () for name in entry.split(",") if name.strip())


def positive(value: int | float, flag: str) -> None:
    """Refuse what must be positive and is not."""
    if not value > 0:
        raise UsageError(f"{flag} is {value}; it must be positive")


def not_negative(value: int | float, flag: str) -> None:
    """Refuse what must not be negative and is."""
    if value < 0:
        raise UsageError(f"{flag} is {value}; it must not be negative")
