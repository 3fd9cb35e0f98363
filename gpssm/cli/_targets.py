"""What is checked about files to write and numbers to compute before any work begins."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from gpssm.cli._outcome import UsageError


def check_target(path: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write over what is read, or into a folder that is not there, before hours of work."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file with -o")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the folder {path.parent} does not exist; make it first, or name another with -o")
    if any(path.exists() and source.exists() and path.samefile(source) for source in inputs):
        raise UsageError(f"{path}: this file is read from; name another with -o, so that your data stay as they are")


def parse_quantiles(given: Sequence[str] | None) -> tuple[float, ...]:
    """Levels such as 0.025,0.5,0.975."""
    levels = []
    for word in (part for entry in given or ("0.025,0.5,0.975",) for part in entry.split(",")):
        try:
            level = float(word)
        except ValueError:
            raise UsageError(f"--quantiles: {word!r} is not a number; write levels such as 0.05,0.5,0.95") from None
        if not 0.0 < level < 1.0:
            raise UsageError(f"--quantiles: {word} does not lie between 0 and 1; write levels such as 0.05,0.5,0.95")
        levels.append(level)
    return tuple(levels)
