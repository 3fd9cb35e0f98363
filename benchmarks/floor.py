"""How far a step is from what the machine could do: its arithmetic over the measured rate of matrix products, and its
bytes over the measured memory bandwidth.

The operations are counted by formula, products only; what is left out (exponentials, random numbers) makes the floor
too low, never too high. Every temporary byte is taken to be written once and read once.
"""

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks._results import write_results
from benchmarks.step import SETTINGS, Setting, gradient_step, make, parts
from gpssm.inference import Explicit

TIMING = "smallest of repeated calls after one warm-up, wall time; float64"


def operations(s: Setting) -> dict[str, float]:
    """Floating-point operations of the products of a gradient step, by part."""
    steps, rows = s.episodes * s.steps, s.episodes * (s.steps - 1)
    features, dims = 2 * s.outputs + s.inputs, s.states
    heads = 2 * dims + dims * (dims - 1) // 2 + dims * dims
    # Forwards, adjoint and weights of the recurrence; inputs are data and need no adjoint.
    recurrent = 2 * 3 * (2 * steps * s.hidden * 3 * s.hidden)
    inputs = 2 * 2 * (2 * steps * features * 3 * s.hidden)
    read_out = 3 * (2 * steps * 2 * s.hidden * heads)
    # Two products with the inducing points forwards and two for each of them backwards.
    projection = dims * 6 * (2 * s.inducing**2 * rows)
    # Cholesky factor, its inverse, and four products for their derivative.
    factors = dims * (2 / 3 + 8) * s.inducing**3
    chain = 3 * steps * (4 * dims**3 + 4 * dims**2)
    return {
        "recognition": float(recurrent + inputs + read_out),
        "chain": float(chain),
        "gp": float(projection + factors),
    }


def smallest(function, *arguments, repeat: int) -> float:
    """Wall seconds of the fastest call."""
    jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - began)
    return min(times)


def product_rate(size: int, repeat: int) -> float:
    """Operations a second of a float64 matrix product."""
    matrix = jnp.asarray(np.random.default_rng(0).standard_normal((size, size)))
    return 2.0 * size**3 / smallest(jax.jit(jnp.matmul), matrix, matrix, repeat=repeat)


def bandwidth(mebibytes: int, repeat: int) -> float:
    """Bytes a second of a copy, reading and writing counted."""
    source = np.ones(mebibytes * 2**17)
    target = np.empty_like(source)
    return 2.0 * source.nbytes / smallest(lambda: np.copyto(target, source), repeat=repeat)


def measure(setting: Setting, rate: float, copy_rate: float, repeat: int) -> list[dict]:
    """All rows of one setting."""
    tree, data = make(setting, Explicit())
    step, arguments = gradient_step(tree, data)
    compiled = jax.jit(step).lower(*arguments).compile()
    seconds = smallest(compiled, *arguments, repeat=repeat)
    memory = compiled.memory_analysis()
    assert memory is not None, "this backend does not say what memory it takes"
    moved = 2 * memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
    counted = operations(setting)
    arithmetic, traffic = sum(counted.values()) / rate, moved / copy_rate
    values = {
        "step_ms": 1e3 * seconds,
        "arithmetic_floor_ms": 1e3 * arithmetic,
        "memory_floor_ms": 1e3 * traffic,
        "times_floor": seconds / max(arithmetic, traffic),
        **{f"{name}_mflop": 1e-6 * value for name, value in counted.items()},
        **{f"{name}_ms": value for name, value in parts(tree, data, repeat).items()},
    }
    key = {"case": setting.name, "method": "explicit", "seed": 0}
    return [{**key, "metric": metric, "value": value} for metric, value in values.items()]


def main() -> None:
    """Print the table and write it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.floor", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repetitions, the two small settings only")
    parser.add_argument("--out", type=Path, default=None, help="folder for floor.json (default: print only)")
    options = parser.parse_args()
    began, rows = time.monotonic(), []
    with jax.enable_x64(True):
        rate, copy_rate = product_rate(1000, 10), bandwidth(128, 5)
        print(f"matrix products {1e-9 * rate:.0f} GFLOP/s, copies {1e-9 * copy_rate:.1f} GB/s")
        for setting in SETTINGS[:1] + SETTINGS[3:] if options.quick else SETTINGS:
            found = measure(setting, rate, copy_rate, 5 if options.quick else 30)
            rows += found
            value = {row["metric"]: row["value"] for row in found}
            print(
                f"{setting.name:<16}step {value['step_ms']:.1f} ms; floors: arithmetic "
                f"{value['arithmetic_floor_ms']:.2f} ms, memory {value['memory_floor_ms']:.2f} ms; "
                f"{value['times_floor']:.1f} times the floor",
                flush=True,
            )
    if options.out is not None:
        rates = {"product_gflops": 1e-9 * rate, "copy_gbytes": 1e-9 * copy_rate}
        print(write_results("floor", options.out, rows, time.monotonic() - began, timing=TIMING, rates=rates))


if __name__ == "__main__":
    main()
