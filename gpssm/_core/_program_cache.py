"""Compiled programs are kept on disk, so that only the first run of a kind waits for the compiler.

Two thirds of a short fit are compilation. This is the one global setting of JAX that the library touches (see
docs/decisions/0007), once, when the first fit or prediction is asked for, and only if nobody has chosen another.
"""

import hashlib
import os
import platform
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

SWITCH = "GPSSM_CACHE"
"""The environment variable: a folder, or `off`."""
PREFIX, DIGITS = "programs-", 12
LARGEST = 1 << 30
"""Bytes; beyond this the programs that were not used for longest are removed."""


@cache
def keep_programs() -> Path | None:
    """Let JAX keep compiled programs; the folder, or None where that is not wanted."""
    # Here, because the command line asks for the folder before it imports JAX.
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    # The type checker does not see the settings of JAX.
    chosen: str | None = jax.config.jax_compilation_cache_dir  # pyright: ignore
    enabled: bool = jax.config.jax_enable_compilation_cache  # pyright: ignore
    if chosen is not None or not enabled:
        return None  # somebody has decided
    folder = program_folder()
    if folder is None:
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        make_room(folder)
    except OSError:
        return None  # a home that cannot be written to costs time, and nothing else
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # Small programs too: there are a hundred of them.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # JAX decides at its first program whether there is a cache, and that may have been before.
    compilation_cache.reset_cache()
    return folder


def program_folder() -> Path | None:
    """Where programs of this machine are kept; None where they are not to be."""
    wanted = os.environ.get(SWITCH, "")
    if wanted.lower() in ("off", "0", "no", "false"):
        return None
    try:
        # Wherever the process goes from here.
        home = Path(wanted).expanduser().absolute() if wanted else _cache_home() / "gpssm"
    except (OSError, RuntimeError):
        return None  # nobody's home, as in some containers
    return home / f"{PREFIX}{_machine()}"


def _machine() -> str:
    """What the processor can do. Homes are shared between machines, and a program for another one would not run."""
    told = [platform.system(), platform.machine(), platform.processor()]
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        told += [line for line in lines if line.startswith(("flags", "Features", "model name"))][:2]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:DIGITS]


def _cache_home() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def make_room(folder: Path, largest: int = LARGEST) -> None:
    """Remove the files that were not used for longest, half of what may be kept at a time, of all machines that share
    this home."""
    files = []
    for path in folder.parent.glob(f"{PREFIX}{'[0-9a-f]' * DIGITS}/*"):
        with suppress(OSError):  # another process may have taken it away since
            if path.is_file():
                files.append((path.stat(), path))
    size = sum(stat.st_size for stat, _ in files)
    if size <= largest:
        return
    for stat, path in sorted(files, key=lambda pair: max(pair[0].st_atime, pair[0].st_mtime)):
        with suppress(OSError):  # another process may have been quicker
            path.unlink()
        size -= stat.st_size
        if size <= largest // 2:
            return
