"""Settings and fixtures shared by all tests. They hold for tests only: the library never touches global settings."""

import ctypes
import gc
import os
import signal
import sys

# Before NumPy is imported: a thread pool inside BLAS fights with XLA's on a machine with few cores.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Before JAX is imported: a test runs what it compiles a few times only, so that compiling is what takes the time, and
# optimising does not pay. What must be compiled as users compile it says so (`tests.reference.compiling.as_users_do`).
_CHEAP = ("--xla_backend_optimization_level=0", "--xla_cpu_use_fusion_emitters=false")
# A worker inherits what the process that started it has set; said twice, programs of the other are not found.
_given = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if flag not in _CHEAP]
os.environ["XLA_FLAGS"] = " ".join((*_CHEAP, *_given))

# Shells start what runs in the background with Ctrl-C ignored, `nohup` ignores hang-ups, and a fit respects that. Tests
# of signals must not depend on how they were started, nor must the processes that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

# Before JAX is imported: what one worker has compiled serves the other, and the next run.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).resolve().parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import jax

jax.config.update("jax_enable_x64", True)
# Two arrays of different rank that happen to broadcast are nearly always a mistake.
jax.config.update("jax_numpy_rank_promotion", "raise")

# Before gpssm is imported: every annotated shape and type in the package is checked at run time. That takes nearly as
# long as the tests themselves, so `make test-shapes` and `make test-system` do it, and `make test` does not.
if os.environ.get("GPSSM_TEST_SHAPES"):
    from jaxtyping import install_import_hook

    install_import_hook("gpssm", "beartype.beartype")

import jax.random as jr
import pytest
from jaxtyping import PRNGKeyArray

PROGRAMS = 180
"""How many programs the tests of one file may compile: each takes a tenth of a second or more, in every run."""
MORE_PROGRAMS = {"methods/test_conformance.py": 500, "inference/test_marginal.py": 260}
"""Files that need more, and how many: a little more than alone, because files before them may have compiled some."""
_compiled = 0
MANY_MAPPINGS = 40_000
"""Every compiled program takes several mappings of memory. Linux lets a process have 65 530, and one more ends it with
a segmentation fault: past this many, what was compiled is forgotten between two files."""
MUCH_MEMORY = 1024.0
"""MiB that a process may take more than when it last forgot. At the end of all tests each of two had nearly 4 GiB, and
where others run on the same machine, a process that takes so much may be ended without a word."""
_resident_before: float | None = None


def _mappings() -> int:
    try:
        with open("/proc/self/maps", "rb") as mappings:
            return sum(1 for _ in mappings)
    except OSError:
        return 0


def _resident() -> float:
    """MiB of memory that this process holds."""
    try:
        with open("/proc/self/statm", "rb") as pages:
            return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return 0.0


def _forget_programs() -> None:
    """Where there are many of them, and give the memory back."""
    global _resident_before
    resident = _resident()
    if _resident_before is None:
        _resident_before = resident
    if _mappings() > MANY_MAPPINGS or resident > _resident_before + MUCH_MEMORY:
        jax.clear_caches()
        gc.collect()
        if sys.platform == "linux":
            # Freed blocks lie between others, and would otherwise be kept for later.
            with suppress(OSError, AttributeError):
                ctypes.CDLL("libc.so.6").malloc_trim(0)
        _resident_before = _resident()


def _count(event: str, seconds: float, **_: object) -> None:
    global _compiled
    _compiled += event == "/jax/core/compile/backend_compile_duration"


jax.monitoring.register_event_duration_secs_listener(_count)


@pytest.fixture(scope="module", autouse=True)
def within_budget(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a file that compiles more programs than its budget: share shapes with other tests, and do nothing eagerly
    that NumPy could do."""
    before = _compiled
    yield
    name = str(Path(str(request.path)).relative_to(Path(__file__).parent))
    made, budget = _compiled - before, MORE_PROGRAMS.get(name, PROGRAMS)
    _forget_programs()
    if os.environ.get("GPSSM_COUNT_PROGRAMS"):
        with open(os.environ["GPSSM_COUNT_PROGRAMS"], "a") as counts:
            counts.write(f"{made} {name}\n")
    # Those that take long are not in everybody's way, and need not count what they compile.
    quick = "not system" in request.config.getoption("markexpr")
    told = f"{name} compiled {made} programs, more than its budget of {budget}"
    assert made <= budget or not quick, f"{told} (tests/conftest.py)"


@pytest.fixture
def getkey() -> Callable[..., PRNGKeyArray]:
    """Random keys from explicit seeds.

    `getkey(7)` is always the same key. `getkey()` gives a new key at every call, and the same sequence of keys in every
    run of the same test, so that a failure can be repeated.
    """
    drawn = 0

    def key(seed: int | None = None) -> PRNGKeyArray:
        nonlocal drawn
        if seed is not None:
            return jr.key(seed)
        drawn += 1
        return jr.fold_in(jr.key(20_170_529), drawn)

    return key


@pytest.fixture(scope="session")
def needs_data() -> Path:
    """The folder of third-party records named by GPSSM_DATA; a test that asks for it is skipped where there is none."""
    folder = os.environ.get("GPSSM_DATA")
    if not folder:
        pytest.skip(
            "GPSSM_DATA is not set: it names the folder of third-party records, which are not part of the repository"
        )
    path = Path(folder)
    if not path.is_dir():
        # A wrong path is a mistake in the set-up; skipping would hide it.
        pytest.fail(
            f"GPSSM_DATA is {folder!r}, which is not a folder: correct it, or unset it to skip the tests that need data"
        )
    return path
