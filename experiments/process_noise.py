"""Process noise that the system does not have: how it grows while a fit goes on.

The double pendulum with hidden velocities has no process noise at all. The fit of the experiment `double_pendulum` is
watched here from cycle to cycle: bound, and both noises. Two fits: the second has twice the inducing points.
"""

from functools import partial
from typing import Any

import jax.random as jr
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import gpssm
from experiments import methods
from experiments._learn import learn
from experiments._results import Results, arguments
from experiments._swing_up import turning
from experiments._trials import load_study
from gpssm.fitting import Status

SEED, TRIALS, OBSERVED = 1, 14, (2, 3)
INDUCING = (100, 200)
CYCLES = 25
PROTOCOL = {
    "system": "double pendulum, angles measured with noise of sd 0.01, no process noise; 14 trials of seed 1",
    "model": "as in the double pendulum's row `gpssm best`, 4 states",
    "measure": "after each cycle of Alternating: bound per step, mean process variance of the two hidden "
    "states (their own variance is about one), and measurement variances over the true ones",
    "selection": "nothing is chosen",
}


class Watch(gpssm.Silent):
    """Remembers the cycles of a fit."""

    def __init__(self, truth: np.ndarray):
        self.truth = truth
        self.rows: list[dict[str, Any]] = []

    def update(self, status: Status) -> None:
        """Bound and noises after a cycle."""
        if status.stage != "cycle" or status.process_noise is None:
            return
        found = {
            "bound": status.bound,
            "process": float(np.mean(status.process_noise[len(self.truth) :])),
            "measurement_ratio": float(np.mean(status.measurement_noise / self.truth)),
        }
        self.rows += [{"cycle": status.step, "metric": metric, "value": value} for metric, value in found.items()]


def watched(inducing: int, cycles: int) -> list[dict[str, Any]]:
    """One fit, cycle by cycle."""
    study = load_study("double_pendulum", SEED, OBSERVED)
    train = study.first(TRIALS)
    watch = Watch((0.01 / np.asarray(gpssm.Scaler.from_episodes(train).output_scale)) ** 2)
    kernel = turning(study, train, states=methods.PROCESS_NOISE_STATES)
    method = methods.process_noise(kernel, inducing=inducing, cycles=cycles)
    learn(train, method, progress=watch, key=jr.fold_in(jr.key(3), SEED))
    return watch.rows


def draw(results: Results) -> None:
    """Both noises against the bound that they are rewarded with."""
    figure, panels = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
    for panel, metric in zip(panels, ("bound", "process", "measurement_ratio"), strict=True):
        for case in dict.fromkeys(row["case"] for row in results.rows):
            rows = [row for row in results.rows if row["case"] == case and row["metric"] == metric]
            panel.plot([row["cycle"] for row in rows], [row["value"] for row in rows], ".-", label=case)
        panel.set(xlabel="cycle", title=metric.replace("_", " "))
    panels[1].set(yscale="log", title="process variance of velocities")
    panels[2].set(yscale="log", title="measurement variance / truth")
    panels[0].set(title="bound per step")
    panels[0].legend(fontsize=8)
    figure.savefig(results.out / "process_noise.png", dpi=110)
    plt.close(figure)


def main() -> None:
    """Both fits; continue where an earlier run stopped."""
    options = arguments(__doc__ or "", "process_noise")
    results = Results("process_noise", {**PROTOCOL, "quick": options.quick}, options.out, fresh=options.fresh)
    for inducing in (20,) if options.quick else INDUCING:
        work = partial(watched, inducing, 2 if options.quick else CYCLES)
        results.run(f"{inducing} inducing points", "alternating", SEED, work)
    draw(results)
    print(f"results: {results.path}")


if __name__ == "__main__":
    main()
