"""What a service meets: an update of the online filter, records of a thousand lengths, and models with many states.

- `online`: median, 99th percentile and longest time of `update` with four states and fifty inducing points, pinned to
  one core; the goal is half a millisecond.
- `lengths`: programs compiled and memory kept while one model simulates records of many lengths; the goal is about ten
  programs that take longer than a second to make, and memory that stays where it was after the first hundred.
- `states`: seconds to compile a step of training with many states, on one core; the goal is a minute for thirty.
"""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import jax
import jax.random as jr
import numpy as np

import gpssm
from benchmarks._results import write_results
from benchmarks.step import Setting, _rbf, episodes_of, gradient_step, make, timed
from gpssm.filters import EKF, UKF
from gpssm.inference import Collapsed
from gpssm.models import GPSSM
from gpssm.predict import Channels, System

ONLINE = Setting("online", 2, 60, 4, 2, 1, 50, 10, _rbf, 0.5)
CONTEXT, SAMPLES = 10, 20

compiled: list[float] = []


def _note(event: str, duration_secs: float, **_: object) -> None:
    if event.endswith("backend_compile_duration"):
        compiled.append(duration_secs)


jax.monitoring.register_event_duration_secs_listener(_note)


def system_of(setting: Setting) -> System:
    """A model before training: its size is what counts here."""
    episodes = episodes_of(setting)
    kernels = [setting.kernel(setting.states + setting.inputs) for _ in range(setting.states)]
    model = GPSSM.from_data(
        episodes, state_dim=setting.states, kernel=kernels, num_inducing=setting.inducing, key=jr.key(0)
    )
    return System(model, gpssm.Scaler.from_episodes(episodes), Channels.of(episodes))


def resident() -> float:
    """MiB of memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def on_one_core(measure: Callable[[], list[dict]]) -> list[dict]:
    """Measured with the process pinned to one core."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        return measure()
    finally:
        os.sched_setaffinity(0, allowed)


def online(samples: int) -> list[dict]:
    """How long an update takes."""
    system, rng, rows = system_of(ONLINE), np.random.default_rng(0), []
    for reader in (UKF(), EKF()):
        observer = system.online(reader=reader, gate=6.0)
        y, u = rng.standard_normal((samples, 2)), rng.standard_normal((samples, 1))
        times = np.empty(samples)
        for i in range(samples):
            began = time.perf_counter()
            observer.update(y[i], u[i])
            times[i] = time.perf_counter() - began
        told = {"median_ms": np.median(times), "p99_ms": np.quantile(times, 0.99), "longest_ms": times.max()}
        key = {"case": "online", "method": type(reader).__name__, "seed": 0, "goal": ONLINE.goal_ms}
        rows += [{**key, "metric": name, "value": round(1e3 * float(value), 4)} for name, value in told.items()]
    return rows


def lengths(count: int) -> list[dict]:
    """Programs and memory for so many lengths, in an order that meets all sizes early."""
    system, rng = system_of(ONLINE), np.random.default_rng(0)
    wanted = rng.permutation(np.unique(np.linspace(20, 1019, count).astype(int)))
    y, u = rng.standard_normal((1019, 2)), rng.standard_normal((1019, 1))
    compiled.clear()
    early = 0.0
    for i, length in enumerate(wanted):
        episode = gpssm.Episode(y=y[:length], u=u[:length])
        system.simulate(episode, n_init=CONTEXT, num_samples=SAMPLES, seed=0)
        if i == max(len(wanted) // 10, 1):
            early = resident()
    key = {"case": "lengths", "method": "simulate", "seed": 0, "size": len(wanted)}
    found = {
        "programs": len(compiled),
        "large_programs": sum(seconds > 1.0 for seconds in compiled),
        "resident_mib": round(resident(), 1),
        "growth_mib": round(resident() - early, 1),
    }
    return [{**key, "metric": name, "value": value} for name, value in found.items()]


def states(counts: tuple[int, ...]) -> list[dict]:
    """How long the compiler takes for many states, each with a kernel of its own."""
    rows = []
    for count in counts:
        setting = Setting("states", 3, 60, count, 2, 1, 10, 32, _rbf, 60.0)
        tree, data = make(setting, Collapsed(), own_kernels=True)
        step, arguments = gradient_step(tree, data)
        seconds, _ = timed(step, *arguments, repeat=1)
        key = {"case": "states", "method": "collapsed", "seed": 0, "size": count, "goal": setting.goal_ms}
        rows.append({**key, "metric": "compile_s", "value": round(seconds, 1)})
    return rows


def main() -> None:
    """Print the rows and write them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples, lengths and states")
    parser.add_argument("--out", type=Path, default=None, help="folder for service.json (default: print only)")
    options = parser.parse_args()
    began, rows = time.monotonic(), []
    # Programs of an earlier run would be found, and nothing measured.
    jax.config.update("jax_enable_compilation_cache", False)
    with jax.enable_x64(True):
        for found in (
            on_one_core(lambda: online(500 if options.quick else 20_000)),
            lengths(60 if options.quick else 1000),
            on_one_core(lambda: states((2, 10) if options.quick else (4, 10, 20, 30))),
        ):
            rows += found
            for row in found:
                size = row.get("size", "")
                print(
                    f"{row['case']:<9}{row['method']:<11}{size!s:<6}{row['metric']:<16}{row['value']:>10}", flush=True
                )
    if options.out is not None:
        print(write_results("service", options.out, rows, time.monotonic() - began))


if __name__ == "__main__":
    main()
