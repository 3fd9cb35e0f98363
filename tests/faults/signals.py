"""Real signals to the installed command, at random moments of a fit, compiling, scoring and saving included.

Each fault survives if it is acknowledged within a second, has ended within ten, says in words or as JSON how to go on
with exit code 6 (130 only where there is nothing to keep), and the fit, gone on with, ends with the same bits.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

import gpssm
from tests.cli.records import write_record

COMMAND = str(Path(sys.executable).with_name("gpssm"))
_RUN = """
import os, signal, sys
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
DEFAULTS = (sys.executable, "-c", _RUN)
"""Whoever starts this in the background has had signals ignored, and what is started inherits that."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SOON, AT_LAST = 1.0, 10.0
"""Seconds in which it must be acknowledged, and have ended."""
PHASES = {
    "import, compile, Adam": "m.gpssm.checkpoints",
    "L-BFGS": "m.gpssm.checkpoints/1.train.ckpt",
    "second start": "m.gpssm.checkpoints/2.train.ckpt",
    "network": "m.gpssm.checkpoints/3.train.ckpt",
    "saving": "m.gpssm.checkpoints/4.network.ckpt",
    "scoring, report": "m.gpssm",
}
"""What has been written when a phase begins. The first is the folder that is made once the data are read."""
COLUMNS = ("--outputs", "y", "--inputs", "u", "--dt", "0.1", "-o", "m.gpssm")
METHOD = "--method polished --states 1 --inducing 6 --hidden 4 --steps 400 --polish 30 --network 200 --tries 1"


@dataclass(frozen=True)
class Running:
    """The command at work in a folder of its own."""

    folder: Path
    process: subprocess.Popen
    told: Path
    remarks: Path

    @classmethod
    def start(cls, folder: Path, *more: str, cache: Path | None) -> "Running":
        """Without a cache everything is compiled."""
        folder.mkdir(exist_ok=True)
        record = write_record(folder / "a.csv", 90, 0)
        words = ["fit", record.name, *COLUMNS, *METHOD.split(), *more]
        # The compiled programs of the tests would be found.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
        environment |= {"GPSSM_CACHE": "off" if cache is None else str(cache)}
        told, remarks = folder / "told", folder / "remarks"
        with told.open("w") as out, remarks.open("w") as err:
            process = subprocess.Popen(
                [*DEFAULTS, COMMAND, *words], cwd=folder, env=environment, stdout=out, stderr=err
            )
        return cls(folder, process, told, remarks)

    def wait_for(self, name: str) -> bool:
        """Whether the file has come before the end of the process."""
        while not (self.folder / name).exists():
            if self.process.poll() is not None:
                return False
            time.sleep(0.005)
        return True

    def said(self) -> str:
        return self.remarks.read_text()


def moments(folder: Path, cache: Path | None) -> list[float]:
    """How long each phase lasts if nobody interrupts."""
    running, times = Running.start(folder, cache=cache), []
    for name in PHASES.values():
        assert running.wait_for(name), running.said()
        times.append(time.monotonic())
    assert running.process.wait() == 0, running.said()
    return list(np.diff([*times, time.monotonic()]))


@cache
def _numbers(path: Path) -> list[np.ndarray]:
    system = gpssm.load(path)
    assert isinstance(system, gpssm.System) and system.history is not None
    parts = (system.model, system.recognition)
    return [*jax.tree.leaves(eqx.filter(parts, eqx.is_array)), system.history.bound]


def _attack(running: Running, phase: str, delay: float, number: signal.Signals) -> list[str] | None:
    """Everything that went wrong; None if the fit had ended before."""
    if not running.wait_for(phase):
        return None
    time.sleep(delay)
    if running.process.poll() is not None:
        return None
    running.process.send_signal(number)
    sent, acknowledged = time.monotonic(), None
    while running.process.poll() is None and time.monotonic() - sent < 60.0:
        if acknowledged is None and "Interrupted" in running.said():
            acknowledged = time.monotonic() - sent
        time.sleep(0.01)
    seconds, code = time.monotonic() - sent, running.process.poll()
    if code is None:
        running.process.kill()
        running.process.wait()
    if code == 0:
        return None  # everything had been written
    wrong = []
    if "Interrupted" not in running.said() or (acknowledged is None and seconds > SOON):
        wrong.append("not acknowledged")
    elif acknowledged is not None and acknowledged > SOON:
        wrong.append(f"acknowledged after {acknowledged:.1f} s")
    if seconds > AT_LAST:
        wrong.append(f"ended after {seconds:.1f} s")
    folder = running.folder
    kept = (folder / "m.gpssm").exists() or any((folder / "m.gpssm.checkpoints").rglob("*.ckpt"))
    if code != (6 if kept else 130):
        wrong.append(f"exit code {code}")
    if not kept and (folder / "m.gpssm.checkpoints").exists():
        wrong.append("an empty folder is left")
    if "Traceback" in running.said() or list(folder.rglob("*.tmp")):
        wrong.append("a traceback or half a file")
    return wrong


def _says_how_to_go_on(running: Running, machine: bool) -> list[str]:
    if not machine:
        words = running.said()
        return [] if "gpssm fit a.csv" in words or running.process.returncode == 130 else ["not said how to go on"]
    try:
        facts = json.loads(running.told.read_text())
    except ValueError:
        return ["no JSON"]
    if facts["exit_code"] != running.process.returncode:
        return ["another exit code in JSON"]
    going_on = facts.get("interrupted") is True and "gpssm fit a.csv" in facts.get("go_on", "")
    return [] if going_on or "error" in facts else ["no way to go on in JSON"]


def _goes_on(running: Running, whole: Path, cache: Path) -> list[str]:
    there = any((running.folder / "m.gpssm.checkpoints").rglob("*.ckpt"))
    again = Running.start(running.folder, *(["--resume"] if there else []), cache=cache)
    if again.process.wait() != 0:
        return [f"going on ended with {again.process.returncode}: {again.said()[-500:]}"]
    same = all(map(np.array_equal, _numbers(whole), _numbers(running.folder / "m.gpssm")))
    tidy = (running.folder / "m-report.html").exists() and not (running.folder / "m.gpssm.checkpoints").exists()
    return [word for word, fine in (("other bits", same), ("no report, or a folder left", tidy)) if not fine]


def signals(rng: np.random.Generator, count: int, folder: Path) -> Iterator[bool]:
    """The three signals in each phase in turn, with and without --json, with programs to be compiled and without."""
    cache = folder / "programs"
    # The first one, which fills the cache, has to compile everything.
    pace = {cold: moments(folder / name, cache) for cold, name in ((True, "filling"), (False, "whole"))}
    names = list(PHASES)
    for i in range(count):
        phase, number, machine, cold = i % len(names), SIGNALS[(i // 2) % 3], bool(i // 3 % 2), bool((i + i // 6) % 2)
        for attempt in range(8):
            place = folder / f"{i}-{attempt}"
            running = Running.start(place, *(["--json"] if machine else []), cache=None if cold else cache)
            delay = float(rng.uniform(0.0, pace[cold][phase])) * 0.7**attempt
            wrong = _attack(running, PHASES[names[phase]], delay, number)
            if wrong is not None:
                break
        else:
            continue  # not provoked: whoever counts will notice
        wrong += _says_how_to_go_on(running, machine) + _goes_on(running, folder / "whole" / "m.gpssm", cache)
        where = f"{names[phase]} + {delay:.2f} s, {number.name}, {'--json' if machine else 'words'}, cold={cold}"
        if wrong:
            print(f"signal {i} ({where}): {'; '.join(wrong)}", file=sys.stderr, flush=True)
        yield not wrong
