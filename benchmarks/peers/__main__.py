"""Race gpssm against the same bound in other frameworks: `python -m benchmarks.peers [--quick] [--out FOLDER]`.

Ratios are peer over gpssm: above one, gpssm is that many times faster or smaller.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import jax

from benchmarks._machine import usable_cores
from benchmarks._results import write_results
from benchmarks.peers._problem import CHUNK, write_problem
from benchmarks.peers._race import Competitor, enter, race, summary
from benchmarks.step import SETTINGS, Setting

TIMING = (
    "workers in turns on the same cores, ten steps a turn; step: fastest turn after the first; first turn: includes "
    "compilation; to bound: from the first step, compilation included; float64"
)
GOALS = {"kink": 3.0, "cart-pole": 3.0, "double pendulum": 2.3, "actuator": 38.0}
"""How many times faster a step should be than each peer's."""
RATIOS = ("step_ms", "step_cpu_ms", "first_turn_s", "to_bound_s", "peak_mib", "above_import_mib")
OURS = "gpssm"
OURS_SINGLE = "gpssm, network in float32"
TURNS, QUICK_TURNS = 150, 4
"""Long enough that the bound to be reached is worth reaching; a short run shows that all take the same steps."""
QUICK = ("kink", "actuator")


def commands(setting: Setting, problem: Path, gpflow_python: str | None) -> dict[str, list[str]]:
    """How each competitor is started."""
    here = [sys.executable, "-m"]
    known = {
        OURS: [*here, "benchmarks.peers._gpssm", setting.name],
        OURS_SINGLE: [*here, "benchmarks.peers._gpssm", setting.name, "--single-precision"],
        "PyTorch": [*here, "benchmarks.peers._pytorch", str(problem)],
    }
    if gpflow_python is not None:
        known["GPflow"] = [gpflow_python, "-m", "benchmarks.peers._gpflow", str(problem)]
    return known


def measure(setting: Setting, turns: int, threads: int, gpflow_python: str | None) -> tuple[list[dict], dict[str, str]]:
    """All rows of one setting, and the versions of the peers."""
    with tempfile.TemporaryDirectory() as folder:
        problem = Path(folder) / "problem.npz"
        write_problem(setting, turns, problem)
        entered: list[Competitor] = []
        for name, command in commands(setting, problem, gpflow_python).items():
            try:
                entered.append(enter(name, command, threads))
            except RuntimeError as problem_with_it:
                print(f"{setting.name}: {name} left out: {problem_with_it}")
        race(entered, turns)
        for competitor in entered:
            competitor.end()
    found = {competitor.name: summary(competitor, entered[0], CHUNK) for competitor in entered}
    rows = []
    for name, values in found.items():
        key = {"case": setting.name, "method": name, "threads": threads, "seed": 0}
        rows += [{**key, "metric": metric, "value": value} for metric, value in values.items()]
        if name != OURS:
            ratios = {metric: values[metric] / max(found[OURS][metric], 1e-12) for metric in RATIOS}
            rows += [{**key, "metric": f"{metric}_ratio", "value": ratio} for metric, ratio in ratios.items()]
    return rows, {key: value for competitor in entered for key, value in competitor.facts.items()}


def show(rows: list[dict], setting: Setting) -> None:
    """One line for each peer."""
    for name in dict.fromkeys(row["method"] for row in rows):
        value = {row["metric"]: row["value"] for row in rows if row["method"] == name}
        line = (
            f"\r{setting.name:<16}{name:<26}step {value['step_ms']:8.1f} ms  first turn {value['first_turn_s']:6.1f} s"
        )
        if name != OURS:
            goal = "" if name == OURS_SINGLE else f" (goal {GOALS[setting.name]:.0f})"
            line += (
                f"  ratios: step {value['step_ms_ratio']:.2f}{goal}, CPU time "
                f"{value['step_cpu_ms_ratio']:.1f}, first turn {value['first_turn_s_ratio']:.2f}, to bound "
                f"{value['to_bound_s_ratio']:.2f}, memory {value['peak_mib_ratio']:.2f}; bounds differ by "
                f"{value['first_bound_difference']:.0e} at the start"
            )
        print(line, flush=True)


def main() -> None:
    """Race in every setting."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few turns, two settings")
    parser.add_argument("--out", type=Path, default=None, help="folder for peers.json (default: print only)")
    parser.add_argument("--threads", type=int, default=usable_cores(), help="cores and threads of each competitor")
    parser.add_argument("--settings", nargs="*", default=None, help="names (default: all; two in a short run)")
    parser.add_argument("--gpflow-python", default=None, help="interpreter of an environment with GPflow")
    options = parser.parse_args()
    names = options.settings or (QUICK if options.quick else [s.name for s in SETTINGS])
    turns = QUICK_TURNS if options.quick else TURNS
    began, rows, versions = time.monotonic(), [], {}
    with jax.enable_x64(True):
        for setting in (s for s in SETTINGS if s.name in names):
            found, facts = measure(setting, turns, options.threads, options.gpflow_python)
            rows, versions = rows + found, versions | facts
            show(found, setting)
    if options.out is not None:
        print(write_results("peers", options.out, rows, time.monotonic() - began, timing=TIMING, peers=versions))


if __name__ == "__main__":
    main()
