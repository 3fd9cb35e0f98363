"""What a service meets: an update of the online filter, a thousand lengths of records, and models with many states.

- `online`: median, 99th percentile and longest time of `update` with four states and fifty inducing points, pinned to
  one core; the goal is half a millisecond.
- `lengths`: programs compiled and memory kept while one model reads, simulates and predicts records of many lengths,
  one kind of call after the other; the goal is about ten programs of each that are not made in no time, and memory
  that stays where it was after the first tenth of the calls. `horizons` and `samples`: the same for steps ahead and
  numbers of trajectories, over one record.
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
CONTEXT, SAMPLES, LONGEST = 10, 20, 1019
LARGE = 0.25
"""Seconds from which on a program counts as one that somebody waits for."""

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


CALLS: dict[str, Callable[[System, gpssm.Episode], object]] = {
    "filter": lambda system, record: system.filter(record, seed=0),
    "smooth": lambda system, record: system.smooth(record),
    "simulate": lambda system, record: system.simulate(record, n_init=CONTEXT, num_samples=SAMPLES, seed=0),
    "predict": lambda system, record: system.predict(record, horizon=5, num_samples=SAMPLES, seed=0),
    "forecast": lambda system, record: system.forecast(record, inputs=record.u[:30], num_samples=SAMPLES, seed=0),
}


def lengths(count: int) -> list[dict]:
    """Programs and memory for so many lengths, in an order that meets all sizes early."""
    system, record = system_of(ONLINE), _record()
    wanted = _spread(20, LONGEST, count)
    return [
        row
        for name, call in CALLS.items()
        for row in _kept("lengths", name, wanted, lambda length, call=call: call(system, record.head(length)))
    ]


def horizons(count: int) -> list[dict]:
    """The same for steps ahead, and for steps beyond the end."""
    system, record = system_of(ONLINE), _record().head(400)

    def predict(steps: int) -> object:
        return system.predict(record, horizon=steps, num_samples=SAMPLES, seed=0)

    def forecast(steps: int) -> object:
        return system.forecast(record, inputs=np.resize(record.u, (steps, 1)), num_samples=SAMPLES, seed=0)

    return [
        *_kept("horizons", "predict", _spread(1, 100, count), predict),
        *_kept("horizons", "forecast", _spread(1, LONGEST, count), forecast),
    ]


def samples(count: int) -> list[dict]:
    """The same for numbers of trajectories."""
    system, record = system_of(ONLINE), _record().head(100)

    def simulate(number: int) -> object:
        return system.simulate(record, n_init=CONTEXT, num_samples=number, seed=0)

    return _kept("samples", "simulate", _spread(1, 1000, count), simulate)


def _record() -> gpssm.Episode:
    rng = np.random.default_rng(0)
    return gpssm.Episode(y=rng.standard_normal((LONGEST, 2)), u=rng.standard_normal((LONGEST, 1)))


def _spread(low: int, high: int, count: int) -> np.ndarray:
    """So many whole numbers between two, or all of them, in no order."""
    return np.random.default_rng(0).permutation(np.unique(np.linspace(low, high, count).astype(int)))


def _kept(case: str, method: str, wanted: np.ndarray, call: Callable[[int], object]) -> list[dict]:
    """What one call after the other leaves behind."""
    compiled.clear()
    early, began = 0.0, time.process_time()
    for i, size in enumerate(wanted):
        call(int(size))
        if i == len(wanted) // 10:
            early = resident()
    key = {"case": case, "method": method, "seed": 0, "size": len(wanted)}
    found = {
        "programs": len(compiled),
        "large_programs": sum(seconds > LARGE for seconds in compiled),
        "resident_mib": round(resident(), 1),
        "growth_mib": round(resident() - early, 1),
        "processor_s": round(time.process_time() - began, 1),
    }
    return [{**key, "metric": name, "value": value} for name, value in found.items()]


def states(counts: tuple[int, ...]) -> list[dict]:
    """How long the compiler takes for many states, each with a kernel of its own."""
    rows = []
    for count in counts:
        setting = Setting("states", 3, 60, count, 2, 1, 10, 32, _rbf, 60.0)
        tree, data = make(setting, Collapsed(), own_kernels=True)
        step, arguments = gradient_step(tree, data)
        began = time.process_time()
        seconds, _ = timed(step, *arguments, repeat=1)
        key = {"case": "states", "method": "collapsed", "seed": 0, "size": count, "goal": setting.goal_ms}
        rows.append({**key, "metric": "compile_s", "value": round(seconds, 1)})
        # What it would take on a core of its own.
        rows.append({**key, "metric": "processor_s", "value": round(time.process_time() - began, 1)})
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
        # One after the other, and told at once: all of it takes more than an hour.
        for measure in (
            lambda: on_one_core(lambda: online(500 if options.quick else 20_000)),
            lambda: lengths(60 if options.quick else 1000),
            lambda: horizons(20 if options.quick else 1000),
            lambda: samples(20 if options.quick else 1000),
            lambda: on_one_core(lambda: states((2, 10) if options.quick else (4, 10, 20, 30))),
        ):
            found = measure()
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
