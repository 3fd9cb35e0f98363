"""A hidden state: learn a driven, damped pendulum from its torque and noisy angle, and simulate it freely.

The velocity is never measured. Held-out episodes are simulated from their first samples; the latent states are compared
with the true velocity.
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
from experiments._learn import learn, learnt_system
from experiments._results import Results, arguments
from gpssm import metrics, plots
from gpssm.evaluate import Against, select
from gpssm.methods import AbstractMethod
from gpssm.predict import AbstractPredictor
from gpssm.systems import Pendulum

TRAIN, TEST, STEPS, N_INIT = 15, 5, 40, 10
HELD_OUT = 5
"""Training episodes by which numbers of lags are chosen."""
SEEDS = (0, 1, 2, 3, 4)
LAGS = (2, 3, 4, 6, 8, 10)
"""Of the autoregressive opponents; no more than the samples that are read."""
NAMED = ("states", "num_inducing", "hidden", "steps", "iterations")
PROTOCOL = {
    "system": "driven damped pendulum, dt 0.1 s, torque up to 6 Nm held for 4 steps, angle measured with sd 0.02 rad, "
    "velocity hidden",
    "data": f"{TRAIN} training and {TEST} held-out episodes x {STEPS} steps, data seed = seed",
    "prediction": f"free simulation of the held-out episodes from their first {N_INIT} samples, which are not scored",
    "model": {name: getattr(methods.PENDULUM, name) for name in NAMED},
    "selection": "settings fixed in advance, the same for all seeds; nothing is chosen by these scores",
    "arx, gp-narx": f"autoregressions, linear and by a GP; of {', '.join(map(str, LAGS))} lags the number that is best "
    f"by gpssm.select in each data seed: free runs over the last {HELD_OUT} training episodes, fitted to the others; "
    "then fitted to all of them",
    "trivial": "constant: training mean; linear: least-squares model of two lags run freely",
}


def score(truth: np.ndarray, mean: np.ndarray) -> dict[str, float]:
    """Errors of a free run."""
    return {"nrmse": metrics.nrmse_std(truth, mean), "rmse": metrics.rmse(truth, mean)}


def free_runs(system: AbstractPredictor, test: gpssm.Episodes) -> tuple[list[gpssm.Rollout], dict[str, float]]:
    """Of all held-out episodes, and their scores."""
    rollouts = [system.simulate(run, n_init=N_INIT, key=jr.key(i)) for i, run in enumerate(test)]
    truth = np.concatenate([run.y[N_INIT:] for run in test])
    low, high = (np.concatenate(side) for side in zip(*(r.interval(0.95) for r in rollouts), strict=True))
    signals = np.concatenate([r.signals for r in rollouts], axis=1)
    return rollouts, {
        **score(truth, np.concatenate([r.mean for r in rollouts])),
        "coverage_95": metrics.interval_coverage(truth, low, high),
        "log_density": metrics.log_density_samples(truth, signals, rollouts[0].noise_std),
    }


def gpssm_scores(train: gpssm.Episodes, test: gpssm.Episodes, velocity: np.ndarray, quick: bool, seed: int, figure):
    """Learn, simulate, compare."""
    method = methods.PENDULUM_QUICK if quick else methods.PENDULUM
    system = learnt_system(train, method, key=jr.fold_in(jr.key(1), seed))
    rollouts, found = free_runs(system, test)
    latent = np.concatenate([system.smooth(run).means for run in test])
    if seed == 0:
        draw(figure, rollouts, test, latent, velocity)
    return {**found, "velocity_r2": metrics.state_r2(velocity, latent)}


def best_lags(candidates: methods.Methods, train: gpssm.Episodes, seed: int) -> str:
    """The candidate that runs best over training episodes that it has not seen."""
    first, last = train.split(test=HELD_OUT)
    found = select(candidates, first, folds=Against(last), n_init=N_INIT, seeds=1, key=jr.fold_in(jr.key(2), seed))
    if found.interrupted:
        raise KeyboardInterrupt
    print(found.table(), flush=True)
    return found.best or next(iter(candidates))


def autoregressive(results: Results, train: gpssm.Episodes, test: gpssm.Episodes, quick: bool, seed: int) -> None:
    """The rows of the autoregressions, with as many lags as training episodes ask for."""
    for family, candidates in methods.pendulum_opponents(LAGS[:2] if quick else LAGS).items():
        name = results.choice("hidden velocity", f"{family}, seed {seed}", partial(best_lags, candidates, train, seed))

        def work(chosen: str = name, method: AbstractMethod = candidates[name]) -> list[dict[str, Any]]:
            system = learn(train, method, key=jr.fold_in(jr.key(3), seed)).system
            return [{"metric": m, "value": v, "chosen": chosen} for m, v in free_runs(system, test)[1].items()]

        results.run("hidden velocity", family, seed, work)


def linear_run(train: gpssm.Episodes, test: gpssm.Episodes, lags: int = 2) -> np.ndarray:
    """Free run of a linear autoregression with inputs."""

    def rows(run: gpssm.Episode) -> np.ndarray:
        steps = range(lags, len(run))
        return np.array([np.concatenate([run.y[t - lags : t, 0], run.u[t - lags : t, 0], [1.0]]) for t in steps])

    design = np.concatenate([rows(run) for run in train])
    target = np.concatenate([run.y[lags:, 0] for run in train])
    weights = np.linalg.lstsq(design, target, rcond=None)[0]
    predicted = []
    for run in test:
        y = list(run.y[:N_INIT, 0])
        for t in range(N_INIT, len(run)):
            y.append(float(np.concatenate([y[t - lags : t], run.u[t - lags : t, 0], [1.0]]) @ weights))
        predicted.append(np.array(y[N_INIT:])[:, None])
    return np.concatenate(predicted)


def draw(path, rollouts: list[gpssm.Rollout], test: gpssm.Episodes, latent: np.ndarray, velocity: np.ndarray) -> None:
    """Free simulations with bands, and the hidden velocity."""
    figure, grid = plt.subplots(2, 3, figsize=(13, 6.5), layout="constrained")
    for axes, predicted, run in zip(grid.flat, rollouts, test, strict=False):
        plots.rollout(axes, predicted, run)
        axes.set_title(f"held-out {run.name}", fontsize=9)
    grid[0, 0].legend(fontsize=8)
    design = np.column_stack([latent, np.ones(len(latent))])
    plots.against(grid[1, 2], velocity, design @ np.linalg.lstsq(design, velocity, rcond=None)[0], name="velocity")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Run all seeds; continue where an earlier run stopped."""
    options = arguments(__doc__ or "", "pendulum")
    figure = options.out / "pendulum.png"
    results = Results("pendulum", {**PROTOCOL, "quick": options.quick}, options.out, fresh=options.fresh)
    for seed in SEEDS[:1] if options.quick else SEEDS:
        simulated = Pendulum().simulate(episodes=TRAIN + TEST, steps=STEPS, key=jr.key(seed))
        train, test = simulated.episodes.split(test=TEST)
        velocity = np.concatenate(simulated.states[TRAIN:])[:, 1]
        truth = np.concatenate([run.y[N_INIT:] for run in test])
        mean = np.full_like(truth, np.concatenate([run.y for run in train]).mean())
        results.run("hidden velocity", "constant", seed, lambda t=truth, m=mean: score(t, m))
        results.run("hidden velocity", "linear", seed, lambda t=truth, a=train, b=test: score(t, linear_run(a, b)))
        results.run(
            "hidden velocity",
            "gpssm",
            seed,
            lambda a=train, b=test, v=velocity, s=seed: gpssm_scores(a, b, v, options.quick, s, figure),
        )
        autoregressive(results, train, test, options.quick, seed)
    print(f"results: {results.path}")


if __name__ == "__main__":
    main()
