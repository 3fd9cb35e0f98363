"""What several starts cost when they are trained together, as a multiple of one; and what two devices save.

Devices are virtual ones of this machine's processor, in a process of their own, because their number is fixed when
JAX starts.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import jax
import jax.random as jr

import gpssm
from benchmarks._results import write_results
from benchmarks.step import SETTINGS, Setting, episodes_of, start_of

TIMING = "wall time, smallest of repeated calls after one warm-up; float64; restarts share one compiled program"
CHOSEN = ("kink", "actuator")
QUICK_STEPS = 50


def seconds(setting: Setting, starts: int, steps: int, repeat: int) -> float:
    """Seconds of training this many starts together."""
    episodes = episodes_of(setting)
    keys = list(jr.split(jr.key(0), starts))
    made = [start_of(setting, episodes, gpssm.Explicit(), key=key) for key in keys]
    times = []
    for _ in range(repeat + 1):
        began = time.perf_counter()
        gpssm.fit_many(made, episodes, steps=steps, keys=keys)
        times.append(time.perf_counter() - began)
    return min(times[1:])


def on_devices(setting: Setting, number: int, steps: int, repeat: int) -> float:
    """Seconds of one fit on this many devices of this process."""
    episodes = episodes_of(setting)
    start = start_of(setting, episodes, gpssm.Explicit(), key=jr.key(0))
    devices = gpssm.Devices.first(number)
    times = []
    for _ in range(repeat + 1):
        began = time.perf_counter()
        gpssm.fit(*start, episodes, steps=steps, devices=devices, key=jr.key(1))
        times.append(time.perf_counter() - began)
    return min(times[1:])


def measure_restarts(names: tuple[str, ...], counts: tuple[int, ...], steps: int, repeat: int) -> list[dict]:
    """Rows of all settings and counts."""
    rows = []
    for setting in (s for s in SETTINGS if s.name in names):
        found = {count: seconds(setting, count, steps, repeat) for count in counts}
        for count, taken in found.items():
            key = {"case": setting.name, "method": "together", "seed": 0, "size": count}
            rows.append({**key, "metric": "times_one", "value": taken / found[counts[0]]})
            print(f"{setting.name:<16}{count:>3} starts: {taken / found[counts[0]]:.2f} times one", flush=True)
    return rows


def measure_devices(settings: int, steps: int, repeat: int) -> list[dict]:
    """Rows of one and two virtual devices, each in a process of its own with as many cores."""
    rows, taken = [], {}
    for number in (1, 2):
        flags = f"--xla_force_host_platform_device_count={number} --xla_cpu_multi_thread_eigen=false"
        sizes = [str(size) for size in (settings, number, steps, repeat)]
        command = [sys.executable, "-m", "benchmarks.restarts", "--worker", *sizes]
        answer = subprocess.run(
            command, env={**os.environ, "XLA_FLAGS": flags}, capture_output=True, text=True, check=True
        )
        taken[number] = json.loads(answer.stdout.splitlines()[-1])
    for case in taken[1]:
        speedup = taken[1][case] / taken[2][case]
        rows.append({"case": case, "method": "devices", "seed": 0, "size": 2, "metric": "speedup", "value": speedup})
        print(f"{case:<16}two devices: {speedup:.2f} times as fast as one", flush=True)
    return rows


def main() -> None:
    """Print the tables and write them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.restarts", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest setting only, fewer starts and steps")
    parser.add_argument("--out", type=Path, default=None, help="folder for restarts.json (default: print only)")
    parser.add_argument("--worker", nargs=4, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        settings, number, steps, repeat = options.worker
        chosen = [s for s in SETTINGS if s.episodes > 1][:settings]
        print(json.dumps({s.name: on_devices(s, number, steps, repeat) for s in chosen}))
        return
    began = time.monotonic()
    with jax.enable_x64(True):
        if options.quick:
            rows = measure_restarts(CHOSEN[:1], (1, 4), QUICK_STEPS, 1)
        else:
            rows = measure_restarts(CHOSEN, (1, 2, 4, 8), 100, 3)
    rows += measure_devices(1, QUICK_STEPS, 1) if options.quick else measure_devices(2, 100, 3)
    if options.out is not None:
        print(write_results("restarts", options.out, rows, time.monotonic() - began, timing=TIMING))


if __name__ == "__main__":
    main()
