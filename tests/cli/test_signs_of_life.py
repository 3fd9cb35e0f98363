"""From the first second to the written page nobody wonders whether the command has died."""

import os
import pty
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpssm
from tests.faults.signals import COMMAND, DEFAULTS

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

LONGEST = 2.0
"""Seconds without a sign."""
DEMO = Path(gpssm.__file__).parent / "demo" / "pendulum.csv"
COLUMNS = ("--outputs", "angle", "--inputs", "torque", "--time", "time", "--episode", "run")
SMALL = ("--method", "polished", "--states", "2", "--inducing", "10", "--hidden", "4", "--steps", "100")


def chunks(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            read = os.read(descriptor, 1 << 16)
        except OSError:  # the other end of a terminal is closed
            return
        if not read:
            return
        yield read


def busy_seconds(process: subprocess.Popen) -> float:
    """Processor time of a process and all its threads."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(words: list[str], folder: Path, *, terminal: bool) -> tuple[str, float]:
    """What the command wrote, compiling everything, and its longest silence.

    A silence is taken in processor time, where that is less: a machine that is busy with something else lets the
    command neither work nor speak.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    environment["GPSSM_CACHE"] = "off"
    theirs, ours = pty.openpty() if terminal else os.pipe()
    process = subprocess.Popen(
        [*DEFAULTS, COMMAND, *words], cwd=folder, env=environment, stdout=ours, stderr=ours, start_new_session=True
    )
    os.close(ours)
    wrote, longest, last, worked = b"", 0.0, time.monotonic(), 0.0
    try:
        for read in chunks(theirs):
            now, busy = time.monotonic(), busy_seconds(process)
            longest, last, worked = max(longest, min(now - last, busy - worked)), now, busy
            wrote += read
        assert process.wait(timeout=60) == 0, wrote.decode()[-2000:]
    finally:
        process.kill()
        process.wait()
        os.close(theirs)
    return wrote.decode(), longest


def test_a_fit_on_a_terminal_is_never_silent_and_says_what_it_does(tmp_path):
    wrote, longest = run(
        ["fit", str(DEMO), *COLUMNS, *SMALL, "--polish", "10", "-o", "m.gpssm"], tmp_path, terminal=True
    )
    assert longest < LONGEST
    for stage in ("reading", "starting JAX", "Adam", "compiling for", "second start", "scoring", "writing the page"):
        assert stage in wrote, stage
    assert "0:00" in wrote, "a clock"
    assert "\x1b[2K" in wrote, "a line that moves"


def test_a_log_gets_lines_too(tmp_path):
    short = (*SMALL, "--polish", "0", "--network", "0", "--no-report", "-o", "m.gpssm")
    for words in (["fit", str(DEMO), *COLUMNS, *short], ["report", "m.gpssm", "--data", str(DEMO), "-o", "page.html"]):
        wrote, longest = run(words, tmp_path, terminal=False)
        assert longest < LONGEST
        assert "0:00" in wrote and "scoring" in wrote
        assert "\x1b" not in wrote, "nothing moves in a file"
