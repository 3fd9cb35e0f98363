"""Noises and the band of the learnt function: marginal inference against mean field, on the kink and the smooth kink.

Reads `kink/kink_600.csv` for the smooth kink from the folder in GPSSM_DATA; without it, only the kink is run. The rows
`repaired` are the mean-field fits with nothing but the covariance of the function computed anew.
"""

import os

import jax.random as jr
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import gpssm
from experiments import kink, methods, smooth_kink
from experiments._learn import learn
from experiments._results import Results, arguments
from gpssm.systems import Kink, SmoothKink

KERNELS = ("rbf", "arccos0")
PROTOCOL = {
    "kink": kink.PROTOCOL["system"] + "; " + kink.PROTOCOL["data"] + "; " + kink.PROTOCOL["model"],
    "smooth kink": smooth_kink.PROTOCOL["data"] + "; " + smooth_kink.PROTOCOL["model"],
    "score": "of the function without process noise, against the truth: on the kink on 400 even points over the 1 to "
    "99 % range of the true visited states, and within 0.5 of x = 4; on the smooth kink on 100 even points in "
    "[-3.15, 1.15]. log_density and coverage are those of the Gaussian band",
    "marginal": "Marginal(), defaults; from the regression of each output on the one before. That inducing inputs stay "
    "where they are, and from which difference on a filter on a grid takes over, was decided after seeing scores of "
    "earlier versions on these very data",
    "mean field": "the recipes `best` of the kink and that of the smooth kink",
    "repaired": "the same fits, then Marginal(rounds=0)",
}


def band_scores(truth: np.ndarray, mean: np.ndarray, std: np.ndarray) -> dict[str, float]:
    """Error, log-density and coverage of a function with its band."""
    return {
        "rmse": gpssm.metrics.rmse(truth, mean),
        "mse": float(np.mean((truth - mean) ** 2)),
        "log_density": gpssm.metrics.log_density_gaussian(truth, mean, std),
        "coverage": float(np.mean(np.abs(truth - mean) < 1.96 * std)),
        "band_std": float(np.mean(std)),
    }


def noises(fitted: gpssm.Fit) -> dict[str, float]:
    """Both variances."""
    model = kink.model_of(fitted)
    return {
        "process_variance": float(model.transition.noise_variance()[0]),
        "noise_variance": float(model.emission.noise_variance()[0]),
    }


def repaired(episodes: gpssm.Episodes, fitted: gpssm.Fit) -> gpssm.Fit:
    """The same fit with the covariance of marginal inference."""
    return learn(episodes, methods.REPAIR, start=fitted, scaler=kink.identity_scaler(), seed=0)


def run_kink(results: Results, quick: bool) -> None:
    """All seeds of one kernel after the other."""
    for name in KERNELS[:1] if quick else KERNELS:
        for seed in (0,) if quick else kink.SEEDS:
            simulated = Kink().simulate(episodes=kink.EPISODES, steps=kink.STEPS, key=jr.key(seed))
            low, high = np.percentile(np.concatenate(simulated.states)[:, 0], [1, 99])
            wide, near = np.linspace(low, high, 400), np.linspace(3.5, 4.5, 400)
            truth = Kink().function

            def scored(fitted: gpssm.Fit, wide=wide, near=near, truth=truth) -> dict[str, float]:
                close = gpssm.metrics.rmse(np.asarray(truth(near)), kink.learnt_function(fitted, near)[0])
                found = band_scores(np.asarray(truth(wide)), *kink.learnt_function(fitted, wide))
                return {**noises(fitted), **found, "rmse_kink": close}

            def marginal(seed=seed, name=name, simulated=simulated, scored=scored) -> dict[str, float]:
                kernel_key, fit_key = jr.split(jr.fold_in(jr.key(1), seed))
                method = methods.kink_marginal(kink.kernel_for(name, kernel_key), rounds=1 if quick else 4)
                fitted = learn(simulated.episodes, method, scaler=kink.identity_scaler(), key=fit_key)
                return scored(fitted)

            known: dict[str, gpssm.Fit] = {}

            def mean_field(
                seed=seed, name=name, simulated=simulated, scored=scored, known=known, repair=False
            ) -> dict[str, float]:
                key = jr.fold_in(jr.key(1), seed)
                if "fit" not in known:
                    known["fit"] = kink.fit_kernel("best", name, simulated.episodes, quick, key)
                return scored(repaired(simulated.episodes, known["fit"]) if repair else known["fit"])

            results.run(f"kink {name}", "marginal", seed, marginal)
            if name == "rbf":
                results.run(f"kink {name}", "mean field", seed, mean_field)
                results.run(f"kink {name}", "repaired", seed, lambda work=mean_field: work(repair=True))


def run_smooth_kink(results: Results, quick: bool) -> None:
    """All levels and series."""
    grid = np.linspace(smooth_kink.LOW, smooth_kink.HIGH, 100)
    truth = np.asarray(SmoothKink().function(grid))
    for level in smooth_kink.LEVELS[:1] if quick else smooth_kink.LEVELS:
        for replicate in (0,) if quick else smooth_kink.REPLICATES:
            y = smooth_kink.series(level, replicate)
            episodes = gpssm.Episodes.from_arrays(y=list(y.reshape(-1, smooth_kink.LENGTH)))
            key = jr.fold_in(jr.key(1), replicate)

            def scored(fitted: gpssm.Fit) -> dict[str, float]:
                return {**noises(fitted), **band_scores(truth, *kink.learnt_function(fitted, grid))}

            def marginal(episodes=episodes, level=level, key=key, replicate=replicate, y=y) -> dict[str, float]:
                model_key, fit_key = jr.split(key)
                model = smooth_kink.first_model(episodes, level, model_key)
                method = methods.smooth_kink_marginal(model, rounds=1 if quick else 4)
                fitted = learn(episodes, method, scaler=kink.identity_scaler(), key=fit_key)
                if replicate == 0:
                    mean, std = kink.learnt_function(fitted, grid)
                    np.savez(results.out / f"function_bands_{level}.npz", mean=mean, std=std, y=y)
                return scored(fitted)

            known: dict[str, gpssm.Fit] = {}

            def mean_field(episodes=episodes, level=level, key=key, known=known, repair=False) -> dict[str, float]:
                if "fit" not in known:
                    known["fit"] = smooth_kink.two_starts(episodes, level, quick, key)
                return scored(repaired(episodes, known["fit"]) if repair else known["fit"])

            case = f"smooth kink {level}"
            results.run(case, "marginal", replicate, marginal)
            results.run(case, "mean field", replicate, mean_field)
            results.run(case, "repaired", replicate, lambda work=mean_field: work(repair=True))


def main() -> None:
    """Everything; continue where an earlier run stopped."""
    options = arguments(__doc__ or "", "function_bands")
    results = Results("function_bands", {**PROTOCOL, "quick": options.quick}, options.out, fresh=options.fresh)
    run_kink(results, options.quick)
    if os.environ.get("GPSSM_DATA"):
        run_smooth_kink(results, options.quick)
        draw(options.out, smooth_kink.LEVELS[:1] if options.quick else smooth_kink.LEVELS)
    else:
        print("GPSSM_DATA is not set: the smooth kink is left out")
    table(results)
    print(f"results: {results.path}")


def table(results: Results) -> None:
    """Means over seeds, on the console."""
    metrics = ("process_variance", "noise_variance", "rmse", "log_density", "coverage", "cpu_seconds")
    print(f"{'':34s}" + "".join(f"{name:>18s}" for name in metrics))
    for case, method in dict.fromkeys((row["case"], row["method"]) for row in results.rows):
        means = [np.mean(results.values(metric, case=case, method=method)) for metric in metrics]
        print(f"{case + ', ' + method:34s}" + "".join(f"{value:18.4f}" for value in means))


def draw(out, levels: tuple[float, ...]) -> None:
    """Learnt functions of the first series at each level."""
    grid = np.linspace(smooth_kink.LOW, smooth_kink.HIGH, 100)
    figure, panels = plt.subplots(1, len(levels), figsize=(4.4 * len(levels), 3.6), layout="constrained", squeeze=False)
    for axes, level in zip(panels.flat, levels, strict=True):
        stored = np.load(out / f"function_bands_{level}.npz")
        mean, std, y = stored["mean"], stored["std"], stored["y"]
        axes.plot(y[:-1], y[1:], ".", ms=2, color="0.75", label="outputs, this and next")
        axes.plot(grid, np.asarray(SmoothKink().function(grid)), color="black", lw=1.4, label="true function")
        axes.fill_between(grid, mean - 2 * std, mean + 2 * std, alpha=0.25, lw=0, label="two standard deviations")
        axes.plot(grid, mean, lw=1.6, label="learnt mean, states integrated out")
        axes.set(title=f"noise variance {level}", xlabel="state now", xlim=(-4, 2), ylim=(-5, 3))
    panels[0, 0].set_ylabel("next state")
    panels[0, 0].legend(fontsize=7)
    figure.savefig(out / "function_bands.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
