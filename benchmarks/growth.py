"""How the cost of a step grows: with record length, episodes, state size, inducing points and paths; and simulation.

Time is processor time, so that it counts work and not who else was there. Memory is what the compiled step asks for
beside its arguments. Exponents are slopes of the logarithms over the three largest sizes.
"""

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from benchmarks._results import write_results
from benchmarks.step import Setting, _rbf, gradient_step, make
from gpssm.inference import Explicit
from gpssm.optimisers import Windows
from gpssm.predict import Pathwise
from gpssm.predict._run import trajectories

TIMING = "processor time, smallest of repeated calls after one warm-up; float64; temporary memory of the compiled step"
BASE = Setting("base", 1, 512, 2, 1, 1, 16, 16, _rbf, 0.0)
FULL = {
    "steps": (1_000, 3_000, 10_000, 30_000, 100_000),
    "episodes": (100, 300, 1_000, 3_000, 10_000),
    "states": (1, 2, 4, 8, 16),
    "inducing": (16, 32, 64, 128, 256),
    "paths": (1, 2, 4, 8, 16, 32),
    "simulation": (16, 64, 256),
    "windows": (5_000, 20_000, 65_000),
}
QUICK = {
    "steps": (500, 8_000),
    "episodes": (50, 800),
    "states": (1, 4),
    "inducing": (16, 128),
    "paths": (1, 16),
    "simulation": (16, 64),
    "windows": (2_000, 8_000),
}


def work(function, arguments, repeat: int) -> tuple[float, int]:
    """Processor seconds of a call, and bytes of temporary memory."""
    compiled = jax.jit(function).lower(*arguments).compile()
    jax.block_until_ready(compiled(*arguments))
    times = []
    for _ in range(repeat):
        began = time.process_time()
        jax.block_until_ready(compiled(*arguments))
        times.append(time.process_time() - began)
    memory = compiled.memory_analysis()
    assert memory is not None, "this backend does not say what memory it takes"
    return min(times), int(memory.temp_size_in_bytes)


def exponent(sizes: list[float], values: list[float]) -> float:
    """Slope of log value over log size at the three largest sizes."""
    return float(np.polyfit(np.log(sizes[-3:]), np.log(np.maximum(values[-3:], 1e-12)), 1)[0])


def setting_of(axis: str, size: int) -> tuple[Setting, int]:
    """The base setting with one size changed, and the number of paths."""
    match axis:
        case "steps":
            return replace(BASE, steps=size), 1
        case "episodes":
            return replace(BASE, episodes=size, steps=20), 1
        case "states":
            return replace(BASE, states=size), 1
        case "inducing":
            return replace(BASE, inducing=size), 1
        case _:
            return BASE, size


def step_work(axis: str, size: int, repeat: int) -> tuple[float, int]:
    """Work of a gradient step with one size changed."""
    setting, paths = setting_of(axis, size)
    return work(*gradient_step(*make(setting, Explicit(), paths)), repeat)


def window_work(size: int, repeat: int) -> tuple[float, int]:
    """Work of a step on windows of a record of this length."""
    tree, data = make(replace(BASE, steps=size), Explicit())
    batches = Windows(length=256, size=8)
    inner, (trained, held, _, key) = gradient_step(tree, data)

    def step(trained, held, data, key):
        draw_key, key = jr.split(key)
        return inner(trained, held, batches.draw(data, key=draw_key), key)

    return work(step, (trained, held, data, key), repeat)


def simulation_work(inducing: int, count: int, repeat: int) -> tuple[float, int]:
    """Work of `count` trajectories of `count` steps, one function draw each."""
    (model, _), _ = make(replace(BASE, inducing=inducing), Explicit())
    arrays, static = eqx.partition(model, eqx.is_array)

    def run(arrays, key):
        start, chol = (
            jnp.zeros((count, BASE.states)),
            jnp.broadcast_to(jnp.eye(BASE.states), (count, BASE.states, BASE.states)),
        )
        controls = jnp.zeros((count, BASE.inputs))
        return trajectories(eqx.combine(arrays, static), None, start, chol, controls, Pathwise(), False, count, key)

    return work(run, (arrays, jr.key(0)), repeat)


def measure(sizes: dict[str, tuple[int, ...]], repeat: int, trajectories_count: int) -> list[dict]:
    """All rows: a time and a memory for each size, and the exponents of each axis."""
    rows = []
    for axis, values in sizes.items():
        seconds, memory = [], []
        for size in values:
            match axis:
                case "simulation":
                    found = simulation_work(size, trajectories_count, 1)
                case "windows":
                    found = window_work(size, repeat)
                case _:
                    found = step_work(axis, size, repeat)
            seconds.append(found[0])
            memory.append(found[1])
            key = {"case": axis, "method": "explicit", "seed": 0, "size": size}
            rows += [
                {**key, "metric": "step_ms", "value": 1e3 * found[0]},
                {**key, "metric": "bytes", "value": found[1]},
            ]
            print(f"{axis:<12}{size:>8}{1e3 * found[0]:>12.1f} ms{found[1] / 2**20:>10.1f} MiB", flush=True)
        slopes = exponent(list(values), seconds), exponent(list(values), memory)
        key = {"case": axis, "method": "explicit", "seed": 0}
        rows += [{**key, "metric": "time_exponent", "value": slopes[0]}]
        rows += [{**key, "metric": "memory_exponent", "value": slopes[1]}]
        print(f"{axis:<12}exponents: time {slopes[0]:.2f}, memory {slopes[1]:.2f}", flush=True)
    return rows


def main() -> None:
    """Print the curves and write them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--out", type=Path, default=None, help="folder for growth.json (default: print only)")
    options = parser.parse_args()
    began = time.monotonic()
    with jax.enable_x64(True):
        rows = measure(QUICK, 2, 100) if options.quick else measure(FULL, 3, 1000)
    if options.out is not None:
        print(write_results("growth", options.out, rows, time.monotonic() - began, timing=TIMING))


if __name__ == "__main__":
    main()
