"""Eight starts against one, on the clock on the wall: what the safety of several seeds costs a user.

`one` is a fit of the demo's pendulum. `eight` gives each of eight starts a tenth of the steps and fits the best two in
full, by as many processes as there are cores, which share compiled programs; `in turn` is the same without processes.
Each is a process of its own, once with an empty folder for compiled programs (`cold`) and once more (`warm`). The goal
is two and a half times the time of one start.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from benchmarks._results import write_results
from experiments._results import provenance

ROOT = Path(__file__).resolve().parents[1]
TIMING = "wall time of a whole process"
GOAL = 2.5
COUNT, LOOK = 8, 0.1
KINDS = ("one", "eight", "in turn")


def fit(kind: str, steps: int) -> None:
    """The fit itself."""
    import gpssm
    from gpssm.demo.__main__ import HELD_OUT, read

    method = gpssm.Polished(states=2, num_inducing=30, steps=steps, iterations=steps // 6, network_steps=0)
    if kind != "one":
        pool = gpssm.pools.ProcessPool(os.cpu_count() or 1) if kind == "eight" else gpssm.pools.Serial()
        method = gpssm.Restarts(method, COUNT, look=LOOK, pool=pool)
    train, _ = read()[0].split(test=HELD_OUT)
    gpssm.fit(train, method, seed=0, progress=gpssm.Silent())


def seconds(kind: str, steps: int, programs: str) -> float:
    """On the wall, from start to end of a process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    environment |= {"GPSSM_CACHE": programs, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "benchmarks.restarts", "--fit", kind, "--steps", str(steps)]
    began = time.monotonic()
    subprocess.run(words, env=environment, check=True)
    return time.monotonic() - began


def main() -> None:
    """Print the table and write it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.restarts", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few steps")
    parser.add_argument("--out", type=Path, default=None, help="folder for restarts.json (default: print only)")
    parser.add_argument("--fit", choices=KINDS, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--steps", type=int, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit is not None:
        fit(options.fit, options.steps)
        return
    began, rows, made = time.monotonic(), [], {**provenance(), "date": date.today().isoformat()}
    for kind in KINDS[:2] if options.quick else KINDS:
        with tempfile.TemporaryDirectory() as programs:
            for when in ("cold", "warm"):
                found = seconds(kind, 60 if options.quick else 600, programs)
                one = next((row["value"] for row in rows if row["case"] == "one" and row["method"] == when), found)
                key = {"case": kind, "method": when, "seed": 0, "size": 1 if kind == "one" else COUNT}
                rows.append({**key, "metric": "seconds", "value": round(found, 2), **made})
                if kind != "one":
                    rows.append({**key, "metric": "times one", "value": round(found / one, 3), "goal": GOAL, **made})
                print(f"{kind:<10}{when:<6}{found:8.1f} s {found / one:6.2f} times one", flush=True)
    if options.out is not None:
        print(write_results("restarts", options.out, rows, time.monotonic() - began, timing=TIMING))


if __name__ == "__main__":
    main()
