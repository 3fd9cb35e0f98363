"""Learn to swing up the cart-pole and the double pendulum, and keep every trial as a data set.

    python -m experiments.generate_pilco                       both systems, the seeds below
    python -m experiments.generate_pilco --system cart_pole --seeds 0 1
    python -m experiments.generate_pilco --quick               a few short trials, to see that it runs

One NPZ file per system and seed holds noisy outputs, noise-free states, actions, costs and policies of all trials; the
JSON file beside it holds seed, versions, settings, and which trials were solved. A run that is interrupted continues
after its last complete trial.
"""

import argparse
import os
import time
from pathlib import Path

# One thread: the matrices are small, and results must not depend on how many cores there are.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax.random as jr

from gpssm.control import (
    Task,
    cart_pole_swing_up,
    double_pendulum_swing_up,
    learn,
    load_trials,
    quick_version,
    save_summary,
    save_trials,
)

TASKS = {"cart_pole": cart_pole_swing_up(), "double_pendulum": double_pendulum_swing_up()}
SEEDS = {"cart_pole": (0, 1, 2), "double_pendulum": (1, 2, 3)}


def generate(name: str, task: Task, seed: int, out: Path) -> bool:
    """Run or continue one seed; returns whether its last trial was solved."""
    path = out / f"{name}_seed{seed}.npz"
    trials = load_trials(path) if path.exists() else []
    print(f"{name} seed {seed}: {len(trials)} of {task.num_trials} trials on disk", flush=True)
    started = time.monotonic()
    for trial in learn(task, key=jr.key(seed), done=trials):
        trials.append(trial)
        save_trials(path, trials)
        save_summary(path.with_suffix(".json"), task, trials, seed=seed)
        planned = "random" if trial.expected_cost is None else f"planned {trial.expected_cost:.3f}"
        print(
            f"{name} seed {seed} trial {len(trials) - 1:2d}: cost {trial.costs.mean():.3f} ({planned}), "
            f"farthest in the last second {trial.distances[-task.solved_steps :].max():.3f} m, "
            f"{'solved' if trial.solved(task) else 'not solved'}, {time.monotonic() - started:.0f} s",
            flush=True,
        )
    return trials[-1].solved(task)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", choices=sorted(TASKS), help="one system instead of both")
    parser.add_argument("--seeds", type=int, nargs="+", help="instead of the default seeds")
    parser.add_argument("--out", type=Path, help="default: results/pilco, or results/pilco-quick with --quick")
    parser.add_argument("--quick", action="store_true", help="few short trials and hardly any optimisation")
    chosen = parser.parse_args()
    out = chosen.out or Path("results/pilco-quick" if chosen.quick else "results/pilco")
    out.mkdir(parents=True, exist_ok=True)
    for name in [chosen.system] if chosen.system else TASKS:
        task = quick_version(TASKS[name]) if chosen.quick else TASKS[name]
        seeds = chosen.seeds or (SEEDS[name][:1] if chosen.quick else SEEDS[name])
        solved = [generate(name, task, seed, out) for seed in seeds]
        print(f"{name}: last trial solved for {sum(solved)} of {len(solved)} seeds; files in {out}", flush=True)


if __name__ == "__main__":
    main()
