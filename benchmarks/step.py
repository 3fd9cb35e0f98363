"""Compile time and time per gradient step for the four settings of the paper, and where the time goes.

The parts are timed alone, each with its own gradient, so that their shares need not add up to one.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # XLA has its own threads; BLAS threads fight with them

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from gpjax.kernels import RBF, AbstractKernel, Matern12

import gpssm
from benchmarks._results import write_results
from gpssm.fitting._problem import Problem, prepare
from gpssm.inference import AbstractInducing, BiRNN, Collapsed, Explicit, MeanField, MonteCarlo
from gpssm.models import GPSSM, Batch


@dataclass(frozen=True)
class Setting:
    """Sizes of one of the paper's experiments."""

    name: str
    episodes: int
    steps: int
    states: int
    outputs: int
    inputs: int
    inducing: int
    hidden: int
    kernel: Callable[[int], AbstractKernel]
    goal_ms: float


# GPJax wraps plain numbers as parameters by itself; the type checker sees only the fields of its kernels.


def _rbf(size: int) -> AbstractKernel:
    return RBF(lengthscale=jnp.ones(size))  # pyright: ignore[reportArgumentType]


def _matern(size: int) -> AbstractKernel:
    return Matern12(lengthscale=jnp.ones(size))  # pyright: ignore[reportArgumentType]


def _sum(size: int) -> AbstractKernel:
    return RBF(lengthscale=jnp.ones(size)) + Matern12(lengthscale=jnp.ones(size))  # pyright: ignore[reportArgumentType]


SETTINGS = (
    Setting("kink", 200, 10, 1, 1, 0, 20, 20, _rbf, 3.0),
    Setting("cart-pole", 15, 40, 4, 4, 1, 100, 50, _matern, 20.0),
    Setting("double pendulum", 14, 30, 4, 4, 2, 200, 80, _matern, 40.0),
    Setting("actuator", 1, 512, 4, 1, 1, 15, 15, _sum, 6.0),
)


def episodes_of(setting: Setting) -> gpssm.Episodes:
    """Random data of the right size."""
    rng = np.random.default_rng(0)
    shape = (setting.episodes, setting.steps)
    y = np.cumsum(0.3 * rng.standard_normal((*shape, setting.outputs)), axis=1)
    u = rng.standard_normal((*shape, setting.inputs))
    return gpssm.Episodes.from_arrays(y=list(y), u=list(u))


def start_of(
    setting: Setting,
    episodes: gpssm.Episodes,
    inducing: AbstractInducing,
    paths: int = 1,
    *,
    single_precision: bool = False,
    own_kernels: bool = False,
) -> tuple[GPSSM, MeanField]:
    """A model and its inference before training; one kernel for all states, or one for each."""
    kernel = setting.kernel(setting.states + setting.inputs)
    model = GPSSM.from_data(
        episodes,
        state_dim=setting.states,
        kernel=[kernel] * setting.states if own_kernels else kernel,
        num_inducing=setting.inducing,
        key=jr.key(0),
    )
    network = BiRNN.from_data(
        episodes,
        state_dim=setting.states,
        hidden=setting.hidden,
        single_precision=single_precision,
        key=jr.key(1),
    )
    return model, MeanField(network, inducing, MonteCarlo(paths))


def make(
    setting: Setting,
    inducing: AbstractInducing,
    paths: int = 1,
    *,
    single_precision: bool = False,
    own_kernels: bool = False,
):
    """Data as a step sees them, and a start."""
    episodes = episodes_of(setting)
    data = Batch.of(gpssm.Scaler.from_episodes(episodes).apply(episodes))
    start = start_of(setting, episodes, inducing, paths, single_precision=single_precision, own_kernels=own_kernels)
    return prepare(start, jnp.float64), data


def timed(function: Callable, *args, repeat: int) -> tuple[float, float]:
    """Seconds to compile, and median seconds of a call."""
    began = time.perf_counter()
    compiled = jax.jit(function).lower(*args).compile()
    compile_seconds = time.perf_counter() - began
    jax.block_until_ready(compiled(*args))
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        jax.block_until_ready(compiled(*args))
        times.append(time.perf_counter() - began)
    return compile_seconds, float(np.median(times))


def parts(tree, data, repeat: int) -> dict[str, float]:
    """Milliseconds of each part with its gradient."""
    model, inference = tree
    arrays, static = eqx.partition(tree, eqx.is_array)
    _, transitions = inference.bound(model, data, key=jr.key(0))
    posterior = inference.posterior(data)

    def recognition(arrays):
        q = eqx.combine(arrays, static)[1].posterior(data)
        return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(q))

    def chain(q):
        states = jax.vmap(lambda one, key: one.sample(1, key=key))(q, jr.split(jr.key(0), data.valid.shape[0]))
        return jnp.sum(states**2) + jnp.sum(jax.vmap(lambda one: one.covariances())(q) ** 2)

    def gp(arrays, transitions):
        dynamics = eqx.combine(arrays, static)[0].transition.condition()
        return dynamics.expected_log_prob(transitions) - dynamics.kl()

    def factors(arrays):
        bases = eqx.combine(arrays, static)[0].transition.bases()
        return sum(jnp.sum(basis.factor.inverse**2) for basis in bases)

    jobs = {
        "recognition": (jax.grad(recognition, allow_int=True), (arrays,)),
        "chain": (jax.grad(chain), (posterior,)),
        "gp": (jax.grad(gp, argnums=(0, 1), allow_int=True), (arrays, transitions)),
        "cholesky": (jax.grad(factors, allow_int=True), (arrays,)),
    }
    return {name: 1e3 * timed(job, *args, repeat=repeat)[1] for name, (job, args) in jobs.items()}


def gradient_step(tree, data) -> tuple[Callable, tuple]:
    """The bound with its gradient as a function of arrays, and its arguments."""
    problem = Problem.of(tree, data, None)
    trained, held = problem.split(tree)
    held_arrays, held_static = eqx.partition(held, eqx.is_array)

    def step(trained, held_arrays, data, key):
        return jax.value_and_grad(problem.loss, has_aux=True)(trained, eqx.combine(held_arrays, held_static), data, key)

    return step, (trained, held_arrays, data, jr.key(0))


def measure(setting: Setting, repeat: int) -> list[dict]:
    """All rows of one setting."""
    rows = []
    for method, inducing in (("explicit", Explicit()), ("collapsed", Collapsed())):
        tree, data = make(setting, inducing)
        step, arguments = gradient_step(tree, data)
        compile_seconds, seconds = timed(step, *arguments, repeat=repeat)
        key = {"case": setting.name, "method": method, "seed": 0}
        rows += [
            {**key, "metric": "compile_s", "value": round(compile_seconds, 2)},
            {**key, "metric": "step_ms", "value": round(1e3 * seconds, 2), "goal": setting.goal_ms},
        ]
        if method == "explicit":
            shares = parts(tree, data, repeat)
            rows += [{**key, "metric": f"{name}_ms", "value": round(value, 2)} for name, value in shares.items()]
    return rows


def main() -> None:
    """Print the table and write it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.step", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repetitions, the smallest setting only")
    parser.add_argument("--out", type=Path, default=None, help="folder for step.json (default: print only)")
    options = parser.parse_args()
    settings = SETTINGS[:1] if options.quick else SETTINGS
    began, rows = time.monotonic(), []
    print(
        f"{'setting':<16}{'q(u)':<11}{'compile s':>10}{'step ms':>9}{'goal':>6}"
        "   recognition / chain / gp / Cholesky (ms)"
    )
    with jax.enable_x64(True):
        for setting in settings:
            found = measure(setting, 5 if options.quick else 30)
            rows += found
            for method in ("explicit", "collapsed"):
                value = {row["metric"]: row["value"] for row in found if row["method"] == method}
                share = " / ".join(
                    f"{value[f'{name}_ms']:.1f}"
                    for name in ("recognition", "chain", "gp", "cholesky")
                    if f"{name}_ms" in value
                )
                print(
                    f"{setting.name:<16}{method:<11}{value['compile_s']:>10.1f}"
                    f"{value['step_ms']:>9.1f}{setting.goal_ms:>6.0f}   {share}",
                    flush=True,
                )
    if options.out is not None:
        print(write_results("step", options.out, rows, time.monotonic() - began))


if __name__ == "__main__":
    main()
