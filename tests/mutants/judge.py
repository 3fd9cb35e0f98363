"""Runs the tests on a changed copy of the tree.

Importing JAX and what stands on it takes as long as most tests. It is done once, in this process; each run of tests
happens in a child that inherits it, and imports the package itself from the copy.
"""

import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
from enum import Enum
from pathlib import Path

import pytest

from tests.mutants.places import ROOT

LIBRARIES = ("jax", "equinox", "optax", "cuthbert", "numpyro", "diffrax", "scipy.optimize", "scipy.stats", "hypothesis")
"""Not GPJax: its import starts XLA and its threads, which a child would not inherit, and wait for."""
PACKAGES = ("gpssm", "tests", "experiments", "benchmarks")
ELSEWHERE, NO_TESTS = 70, int(pytest.ExitCode.NO_TESTS_COLLECTED)
QUICK, SYSTEM = "not slow and not system", "system and not slow"


class Verdict(Enum):
    """What the tests say about a tree."""

    killed = "killed"
    timeout = "killed by time"
    survived = "survived"


class Copy:
    """A copy of the tree in which files can be changed, and the programs that its tests have compiled."""

    def __init__(self, folder: Path, *, seconds: float):
        self.tree, self.seconds = folder / "tree", seconds
        self.log = folder / "last.log"
        shutil.rmtree(self.tree, ignore_errors=True)
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
        )
        for name in listed.stdout.splitlines():
            if (ROOT / name).is_file() and name.split("/")[0] in (*PACKAGES, "pyproject.toml"):
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name)
        # Read when JAX is imported, which is once and for all.
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder / "programs")
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ[variable] = "1"
        for name in LIBRARIES:
            importlib.import_module(name)
        self._stamp = 1_000_000_000

    def write(self, name: str, text: str) -> None:
        """Change a file. Compiled Python is told from other by the time of its source, in seconds: each text gets a
        time that no other has had."""
        self._stamp += 2
        (self.tree / name).write_text(text)
        os.utime(self.tree / name, (self._stamp, self._stamp))

    def judge(self, tests: tuple[str, ...]) -> Verdict:
        """Quick tests first, then those that take longer, up to the first that fails."""
        for which in (QUICK, SYSTEM):
            verdict = self._run(tests, which)
            if verdict is not Verdict.survived:
                return verdict
        return Verdict.survived

    def _run(self, tests: tuple[str, ...], which: str) -> Verdict:
        child = os.fork()
        if child == 0:
            self._be_pytest(tests, which)
        ends = time.monotonic() + self.seconds
        while time.monotonic() < ends:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return self._read(os.waitstatus_to_exitcode(status))
            time.sleep(0.05)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return Verdict.timeout

    def _be_pytest(self, tests: tuple[str, ...], which: str) -> None:
        code = ELSEWHERE
        try:
            # In its own group, so that whatever a test started ends with it.
            os.setsid()
            out = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.chdir(self.tree)
            sys.path[:] = [str(self.tree), *(part for part in sys.path if part not in ("", str(ROOT)))]
            for name in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:
                del sys.modules[name]
            importlib.invalidate_caches()
            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--no-header", "-m", which, *tests]))
            package = getattr(sys.modules.get("gpssm"), "__file__", None)
            if package is not None and not package.startswith(str(self.tree)):
                code = ELSEWHERE
        finally:
            sys.stdout.flush()
            os._exit(code)

    def _read(self, code: int) -> Verdict:
        if code in (0, NO_TESTS):
            return Verdict.survived
        if code == ELSEWHERE or code == int(pytest.ExitCode.USAGE_ERROR):
            raise RuntimeError(f"the tests did not run on the copy; see {self.log}")
        return Verdict.killed

    def failing(self) -> str:
        """The first test that failed in the last run, as pytest names it."""
        lines = self.log.read_text(errors="replace").splitlines()
        return next((line.split(" ")[1] for line in lines if line.startswith(("FAILED ", "ERROR "))), "")
