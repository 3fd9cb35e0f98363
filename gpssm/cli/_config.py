"""Settings from the environment and from a TOML file. What nobody understands is refused, not ignored."""

import difflib
import os
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from cyclopts import App
from cyclopts.argument import ArgumentCollection
from cyclopts.config import Dict, Env

from gpssm.cli._outcome import UsageError

PREFIX = "GPSSM_"


def sources(arguments: Sequence[str], tables: Collection[str]) -> list[Any]:
    """Where settings come from besides flags, the stronger first. Files have a table for each command."""
    path = _config_path(arguments)
    environment = [_known_variables, Env(PREFIX, show=False)]
    return environment if path is None else [*environment, Dict(_read(path, tables), source=str(path))]


def _config_path(arguments: Sequence[str]) -> Path | None:
    for i, word in enumerate(arguments):
        if word == "--config" and i + 1 < len(arguments):
            return Path(arguments[i + 1])
        if word.startswith("--config="):
            return Path(word.partition("=")[2])
    return None


def _read(path: Path, tables: Collection[str]) -> dict[str, Any]:
    # The package of data brings NumPy, for which help should not wait.
    from gpssm.data._regular import open_regular

    try:
        with open(path, "rb", opener=open_regular) as file:
            content = tomllib.load(file)
    except FileNotFoundError as error:
        raise UsageError(f"{path}: there is no such configuration file; check the path after --config") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: the configuration file cannot be read ({error}); save it as UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML ({error}); correct it there") from error
    for key, value in content.items():
        if key not in tables:
            near = difflib.get_close_matches(key, list(tables), n=1)
            meant = f"did you mean [{near[0]}]? " if near else ""
            raise UsageError(
                f"{path}: '{key}' is not a command; {meant}settings stand in a table named after the command, such as "
                "[fit] with states = 2 below it"
            )
        if not isinstance(value, dict):
            raise UsageError(f"{path}: '{key}' must be a table: write [{key}] on a line of its own, settings below it")
    return content


def _known_variables(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Refuse a variable such as GPSSM_FIT_STATS, which is surely meant for this command but fits no flag of it."""
    prefix = PREFIX + "".join(f"{command.upper()}_" for command in commands)
    if not commands:
        return
    flags = {name.lstrip("-").upper().replace("-", "_") for argument in arguments for name in argument.names}
    for variable in os.environ:
        if variable.startswith(prefix) and variable.removeprefix(prefix) not in flags:
            near = difflib.get_close_matches(variable.removeprefix(prefix), flags, n=1)
            meant = f"did you mean {prefix}{near[0]}? " if near else ""
            raise UsageError(f"environment variable {variable}: no setting has this name; {meant}correct or unset it")
