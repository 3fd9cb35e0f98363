"""Identify a pendulum from raw data and compare its free simulation with runs that were held out."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import gpssm
from gpssm import plots

DATA = Path(__file__).with_name("pendulum.csv")
DT, HELD_OUT, N_INIT = 0.1, 4, 8


def read() -> tuple[gpssm.Episodes, list[np.ndarray]]:
    """The embedded record: torque in, noisy angle out; the true velocity is kept aside and never shown to the model."""
    table = np.genfromtxt(DATA, delimiter=",", names=True)
    runs = [table[table["run"] == run] for run in np.unique(table["run"])]
    episodes = gpssm.Episodes(
        gpssm.Episode(
            y=run["angle"], u=run["torque"], dt=DT, name=f"run {i}", output_names=["angle"], input_names=["torque"]
        )
        for i, run in enumerate(runs)
    )
    return episodes, [run["true_velocity"] for run in runs]


def main(arguments: Sequence[str] | None = None) -> None:
    """Read, identify, simulate, draw, report."""
    parser = argparse.ArgumentParser(prog="python -m gpssm.demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("gpssm-demo"), help="folder for figures and report")
    out = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    episodes, velocities = read()
    train, test = episodes.split(test=HELD_OUT)
    print(
        f"{len(train)} runs of {train.max_length} samples: torque in, noisy angle out, velocity hidden; "
        f"{len(test)} runs held out."
    )
    print("Identifying a state-space model with 2 states ...", flush=True)
    fit = gpssm.fit(train, gpssm.Polished(states=2, num_inducing=30, steps=600, iterations=100, network_steps=0))
    system = fit.system
    assert isinstance(system, gpssm.System)

    rollouts = [system.simulate(run, n_init=N_INIT, seed=i) for i, run in enumerate(test)]
    truth = np.concatenate([run.y[N_INIT:] for run in test])
    median = np.concatenate([r.median for r in rollouts])
    low, high = (np.concatenate(side) for side in zip(*(r.interval(0.95) for r in rollouts), strict=True))
    constant = np.full_like(truth, np.concatenate([run.y for run in train]).mean())
    latent = np.concatenate([system.smooth(run).means for run in test])
    velocity = np.concatenate(velocities[len(train) :])
    error = gpssm.metrics.nrmse_std(truth, median)
    scores = {
        "error of the free simulation (share of the signal's standard deviation)": error,
        "the same for a constant prediction": gpssm.metrics.nrmse_std(truth, constant),
        "samples inside the 95 % band": gpssm.metrics.interval_coverage(truth, low, high),
        "hidden velocity explained by the latent states (R2)": gpssm.metrics.state_r2(velocity, latent),
    }
    figures = [_draw_simulations(out, rollouts, test), _draw_training(out, fit.history, latent, velocity)]
    page = out / "report.html"
    report = gpssm.report(fit, test, page, training=train, n_init=N_INIT, horizons=(1, 10), title="Pendulum", seed=0)
    print("\nOn the held-out runs, simulated freely from their first 8 samples:")
    for name, value in scores.items():
        print(f"  {value:6.3f}  {name}")
    print(f"\nThe report says: {report.verdict.headline}")
    print(f"Figures: {', '.join(str(f.resolve()) for f in figures)}\nReport:  {page.resolve()}")
    print(f"Done in {time.monotonic() - began:.0f} s.")


def _draw_simulations(out: Path, rollouts: list[gpssm.Rollout], test: gpssm.Episodes) -> Path:
    figure, grid = plt.subplots(2, 2, figsize=(10, 5.5), sharex=True, sharey=True, layout="constrained")
    for axes, predicted, run in zip(grid.flat, rollouts, test, strict=True):
        plots.rollout(axes, predicted, run)
        axes.set_title(f"{run.name}, held out", fontsize=9)
        axes.label_outer()
    grid[0, 0].legend(fontsize=8, loc="best")
    figure.suptitle(
        "Free simulation from the first 8 samples: only the torque is given after the dashed line", fontsize=10
    )
    path = out / "simulation.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _draw_training(out: Path, history: gpssm.History, latent: np.ndarray, velocity: np.ndarray) -> Path:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    plots.bound(left, history)
    left.set_title("Training", fontsize=9)
    design = np.column_stack([latent, np.ones(len(latent))])
    plots.against(right, velocity, design @ np.linalg.lstsq(design, velocity, rcond=None)[0], name="velocity")
    right.set_title("The hidden velocity was found", fontsize=9)
    path = out / "training.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
