"""What two devices save: a whole fit whose episodes are shared between them, and the same on one.

Devices are virtual ones of this machine's processor, each number of them in a process of its own, because their number
is fixed when JAX starts.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import jax.random as jr

import gpssm
from benchmarks._results import write_results
from benchmarks.step import SETTINGS, Setting, episodes_of
from gpssm.inference import Explicit, MonteCarlo
from gpssm.methods import ModelSpec, Network, Variational
from gpssm.optimisers import Adam

TIMING = "wall time, smallest of repeated calls after one warm-up; float64"
CHOSEN = tuple(setting for setting in SETTINGS if setting.episodes > 1)[:2]


def seconds(setting: Setting, number: int, steps: int, repeat: int) -> float:
    """Of one fit on this many devices of this process."""
    episodes, kernel = episodes_of(setting), setting.kernel(setting.states + setting.inputs)
    method = Variational(
        ModelSpec(setting.states, kernel=kernel, num_inducing=setting.inducing),
        q_x=Network(setting.hidden),
        q_u=Explicit(),
        expectation=MonteCarlo(1),
        optimiser=Adam(steps),
    )
    devices, times = gpssm.Devices.first(number), []
    for _ in range(repeat + 1):
        began = time.perf_counter()
        gpssm.fit(episodes, method, devices=devices, progress=gpssm.Silent(), key=jr.key(1))
        times.append(time.perf_counter() - began)
    return min(times[1:])


def measure(settings: int, steps: int, repeat: int) -> list[dict]:
    """Rows of the first settings."""
    rows, taken = [], {}
    for number in (1, 2):
        flags = f"--xla_force_host_platform_device_count={number} --xla_cpu_multi_thread_eigen=false"
        sizes = [str(size) for size in (settings, number, steps, repeat)]
        answer = subprocess.run(
            [sys.executable, "-m", "benchmarks.devices", "--worker", *sizes],
            env={**os.environ, "XLA_FLAGS": flags},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        taken[number] = json.loads(answer.stdout.splitlines()[-1])
    for case in taken[1]:
        speedup = taken[1][case] / taken[2][case]
        rows.append({"case": case, "method": "devices", "seed": 0, "size": 2, "metric": "speedup", "value": speedup})
        print(f"{case:<16}two devices: {speedup:.2f} times as fast as one", flush=True)
    return rows


def main() -> None:
    """Print the ratios and write them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.devices", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest setting only, and fewer steps")
    parser.add_argument("--out", type=Path, default=None, help="folder for devices.json (default: print only)")
    parser.add_argument("--worker", nargs=4, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        settings, number, steps, repeat = options.worker
        print(json.dumps({s.name: seconds(s, number, steps, repeat) for s in CHOSEN[:settings]}))
        return
    began = time.monotonic()
    rows = measure(1, 50, 1) if options.quick else measure(2, 100, 3)
    if options.out is not None:
        print(write_results("devices", options.out, rows, time.monotonic() - began, timing=TIMING))


if __name__ == "__main__":
    main()
