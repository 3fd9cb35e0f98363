"""What a user feels: processor seconds from the start of a process to its end, without and with compiled programs.

Each case is a process of its own, once with an empty folder for compiled programs (`cold`) and once more with what that
has left there (`warm`). Goals are those that the library has set itself.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from benchmarks._felt_cases import PROGRAMS, write_rig
from benchmarks._results import write_results
from experiments._results import provenance

ROOT = Path(__file__).resolve().parents[1]
TIMING = "processor time of a whole process, user and system, all threads; one BLAS thread"
TIMES = ("cold", "warm")
COLUMNS = ("--outputs", "y1", "y2", "--inputs", "u1", "u2", "u3", "--dt", "0.1")
RIG = (512, 512, 512, 512)
SMALL_RIG = (120, 80)


@dataclass(frozen=True)
class Case:
    """Something that a user waits for."""

    name: str
    words: tuple[str, ...]
    """What follows the interpreter."""
    goals: dict[str, float] = field(default_factory=dict)
    """The most it may take, by metric and time, as in `process cold`."""
    compiles: bool = True
    """Whether a second run is another matter."""


def cases(rig: tuple[str, ...]) -> tuple[Case, ...]:
    """All of them, for records of the rig that are written already. Later ones use the model of earlier ones."""
    command, report = ("-m", "gpssm"), ("report", "rig.gpssm", "--data", rig[0], "-o", "page.html")
    return (
        Case("import gpssm; gpssm.fit", ("-c", "import gpssm; gpssm.fit"), {"process cold": 1.2}, False),
        Case("gpssm --help", (*command, "--help"), {}, False),
        _program(
            "toy of 100 samples, gpssm.fit(data)",
            "toy",
            {"process cold": 25, "process warm": 10, "to the linear answer cold": 10},
        ),
        Case("demo", ("-m", "gpssm.demo"), {"process cold": 60, "process warm": 33}),
        Case(
            f"rig of {len(rig)} records, command to report",
            (*command, "fit", *rig, *COLUMNS, "-o", "rig.gpssm"),
            {"process cold": 120},
        ),
        Case("report alone", (*command, *report), {"process cold": 25}),
        Case("quick report", (*command, *report, "--quick"), {"process cold": 8}),
        _program("kink, first ten steps", "kink", {}),
        _program("online filter, 2 states", "online", {"update, ms cold": 0.1, "update, ms warm": 0.1}),
        _program("1000 trajectories of 1000 steps", "simulate", {}),
    )


def _program(name: str, program: str, goals: dict[str, float]) -> Case:
    assert program in PROGRAMS
    return Case(name, ("-m", "benchmarks._felt_cases", program), goals)


def processor_seconds(words: tuple[str, ...], folder: Path, programs: Path) -> tuple[float, dict[str, float]]:
    """What the process took, its own processes included, and what it told."""
    # Nothing of a user's or a test's own settings: they would be measured, too.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    paths = [str(ROOT), *filter(None, [environment.get("PYTHONPATH")])]
    environment |= {"GPSSM_CACHE": str(programs), "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths)}
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            [sys.executable, *words], cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read()
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {process.returncode}:\n{said[-2000:]}")
    told = [line.removeprefix("FELT ").rpartition(" ") for line in said.splitlines() if line.startswith("FELT ")]
    return used.ru_utime + used.ru_stime, {metric: float(value) for metric, _, value in told}


def measure(case: Case, folder: Path) -> list[dict]:
    """All rows of one case."""
    made = {**provenance(), "date": date.today().isoformat()}
    rows = []
    with tempfile.TemporaryDirectory() as programs:
        for when in TIMES if case.compiles else TIMES[:1]:
            for path in folder.glob("rig.gpssm*") if "fit" in case.words else ():
                path.unlink()
            seconds, told = processor_seconds(case.words, folder, Path(programs))
            for metric, value in {"process": seconds, **told}.items():
                goal = case.goals.get(f"{metric} {when}")
                row = {"case": case.name, "method": when, "seed": 0, "metric": metric, "value": round(value, 4)}
                rows.append({**row, **({} if goal is None else {"goal": goal}), **made})
    return rows


def main() -> None:
    """Print the table and write it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.felt", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small rig, and what takes seconds")
    parser.add_argument("--only", default="", help="cases whose name holds this word")
    parser.add_argument("--out", type=Path, default=None, help="folder for felt.json (default: print only)")
    options = parser.parse_args()
    began, rows = time.monotonic(), []
    print(f"{'case':<44}{'metric':<24}{'':<6}{'value':>9}{'goal':>8}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rig = tuple(write_rig(folder, SMALL_RIG if options.quick else RIG))
        for case in cases(rig):
            if options.only not in case.name or (options.quick and case.name.startswith(("toy", "demo"))):
                continue
            found = measure(case, folder)
            rows += found
            for row in found:
                goal = row.get("goal", "")
                print(
                    f"{row['case']:<44}{row['metric']:<24}{row['method']:<6}{row['value']:>9.2f}{goal!s:>8}", flush=True
                )
    if options.out is not None:
        print(write_results("felt", options.out, rows, time.monotonic() - began, timing=TIMING))


if __name__ == "__main__":
    main()
