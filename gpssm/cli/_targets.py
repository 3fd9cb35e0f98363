"""Files to write, before any work begins: the target of a command, and the folder of checkpoints beside a model."""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from gpssm.cli._outcome import UsageError


def check_target(path: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write over what is read, or into a folder that is not there, before hours of work."""
    mode = _mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise UsageError(f"{path} is a folder; name a file with -o")
    if mode is not None and not stat.S_ISREG(mode):
        raise UsageError(f"{path} is a pipe, a socket or a device; name a file with -o")
    # What a link points to is what is written.
    parent = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not parent.is_dir():
        raise UsageError(f"{path}: the folder {parent} does not exist; make it first, or name another with -o")
    if any(path.exists() and source.exists() and path.samefile(source) for source in inputs):
        raise UsageError(f"{path}: this file is read from; name another with -o, so that your data stay as they are")


def _mode(path: Path) -> int | None:
    """What kind of thing there is; None if there is nothing."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{path}: cannot be written ({reason}); name another file with -o") from error


def prepare_folder(folder: Path, resume: bool) -> None:
    """Unfinished work is neither overwritten nor taken up without being asked for."""
    there = folder.is_dir() and any(folder.rglob("*.ckpt"))
    if resume and not there:
        raise UsageError(f"--resume: {folder} holds no checkpoints; leave --resume out to begin")
    if there and not resume:
        raise UsageError(
            f"{folder} holds an unfinished fit; add --resume to go on with it, or delete that folder to begin anew"
        )
    try:
        folder.mkdir(exist_ok=True)
    except FileExistsError as error:
        raise UsageError(
            f"{folder} is in the way: checkpoints go into a folder of this name; rename that file"
        ) from error


def remove_folder(folder: Path) -> None:
    """A fit that is saved needs its checkpoints no more. Anything else that lies there is left alone."""
    strangers = [
        path for path in folder.rglob("*") if path.is_file() and path.suffix != ".ckpt" and path.name != "lock"
    ]
    if not strangers:
        shutil.rmtree(folder, ignore_errors=True)


def remove_if_empty(folder: Path) -> None:
    """A fit that was refused leaves no folder behind."""
    with contextlib.suppress(OSError):
        folder.rmdir()
