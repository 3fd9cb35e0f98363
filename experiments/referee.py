"""Marginal inference before its referee: draws from the exact posterior of the kink, by particle Gibbs.

Both are given the same model. The referee also draws the kernel's parameters, about their first values; marginal
inference takes the most likely ones.
"""

import re

import jax
import jax.numpy as jnp
import jax.random as jr
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import gpssm
from experiments import kink, methods
from experiments._learn import learn
from experiments._results import Results, arguments
from experiments.function_bands import band_scores, noises
from gpssm.models import SampledModels
from gpssm.systems import Kink

SWEEPS, WARMUP = 4500, 500
QUICK_SWEEPS, QUICK_WARMUP = 60, 40
PROTOCOL = {
    "kink": kink.PROTOCOL["system"] + "; " + kink.PROTOCOL["data"] + "; " + kink.PROTOCOL["model"] + "; RBF kernel",
    "particle Gibbs": f"ParticleGibbs(sweeps={SWEEPS}, warmup={WARMUP}), else defaults: four chains, from the "
    "regression of each output on the one before with noises that are 0.1 to 3 times those of the regression",
    "marginal": "Marginal(), defaults, on the same data",
    "score": "of the function without process noise, against the truth, on 400 even points over the 1 to 99 % range of "
    "the true visited states; log_density and coverage are those of the Gaussian band",
    "intervals": "process_variance and noise_variance of the referee are medians of its draws, _low and _high their 5 "
    "and 95 % quantiles; inside is 1 where marginal inference lies between them",
    "r_hat": "the largest split R-hat of all that is watched: both noises, the function at twelve points, the log of "
    "the joint density; effective the smallest effective number of draws among these, of all chains together",
}


def simulated(seed: int) -> tuple[gpssm.Episodes, np.ndarray]:
    """Records of the kink, and even points over the range of its states."""
    made = Kink().simulate(episodes=kink.EPISODES, steps=kink.STEPS, key=jr.key(seed))
    low, high = np.percentile(np.concatenate(made.states)[:, 0], [1, 99])
    return made.episodes, np.linspace(low, high, 400)


def drawn_functions(system: gpssm.System, x: np.ndarray) -> np.ndarray:
    """The transition function of each draw at these points."""
    joint = system.joint
    assert isinstance(joint, SampledModels)
    with jax.enable_x64(True):
        dynamics = system.model.transition.condition()
        points = jnp.asarray(x)[:, None]

        def one(index: jax.Array) -> jax.Array:
            model = joint.model_at(index, system.model, dynamics)
            return jax.vmap(lambda point: model.transition.condition().moments(point, jnp.zeros(0))[0])(points)[:, 0]

        return np.asarray(jax.jit(lambda: jax.lax.map(one, jnp.arange(len(joint.values))))())


def told_by(fitted: gpssm.Fit) -> dict[str, float]:
    """What the chains say of themselves, in the sentences that come with the fit."""
    events = " ".join(fitted.history.events)
    patterns = {
        "r_hat": r"split R-hat at most ([\d.]+)",
        "effective": r"effective draws at least (\d+)",
        "r_hat_process": r"process noise ([\d.]+) and",
        "r_hat_noise": r"measurement noise ([\d.]+) and",
        "effective_process": r"process noise [\d.]+ and (\d+)",
        "update_percent": r"states changed in (\d+)%",
    }
    return {name: float(re.search(pattern, events).group(1)) for name, pattern in patterns.items()}  # pyright: ignore[reportOptionalMemberAccess]


def run_seed(results: Results, seed: int, quick: bool) -> None:
    """Marginal inference, then its referee."""
    episodes, grid = simulated(seed)
    truth = np.asarray(Kink().function(grid))
    kernel_key, fit_key = jr.split(jr.fold_in(jr.key(1), seed))

    def marginal() -> dict[str, float]:
        method = methods.kink_marginal(kink.kernel_for("rbf", kernel_key), rounds=1 if quick else 4)
        fitted = learn(episodes, method, scaler=kink.identity_scaler(), key=fit_key)
        mean, std = kink.learnt_function(fitted, grid)
        np.savez(results.out / f"referee_marginal_{seed}.npz", grid=grid, mean=mean, std=std)
        return {**noises(fitted), **band_scores(truth, mean, std)}

    def referee() -> dict[str, float]:
        sweeps, warmup = (QUICK_SWEEPS, QUICK_WARMUP) if quick else (SWEEPS, WARMUP)
        method = methods.kink_referee(kink.kernel_for("rbf", kernel_key), sweeps=sweeps, warmup=warmup)
        fitted = learn(episodes, method, scaler=kink.identity_scaler(), key=fit_key)
        assert isinstance(fitted.system, gpssm.System) and isinstance(fitted.system.joint, SampledModels)
        joint, found = fitted.system.joint, {}
        for name, draws in (("process_variance", joint.process), ("noise_variance", joint.noise)):
            low, middle, high = np.quantile(np.asarray(draws)[:, 0], [0.05, 0.5, 0.95])
            (other,) = results.values(name, method="marginal", seed=seed)
            found |= {name: middle, f"{name}_low": low, f"{name}_high": high, f"{name}_inside": low <= other <= high}
        functions = drawn_functions(fitted.system, grid)
        mean, std = functions.mean(axis=0), functions.std(axis=0)
        np.savez(results.out / f"referee_{seed}.npz", grid=grid, mean=mean, std=std)
        return {**found, **band_scores(truth, mean, std), **told_by(fitted)}

    results.run("kink rbf", "marginal", seed, marginal)
    results.run("kink rbf", "particle Gibbs", seed, referee)


def main() -> None:
    """Everything; continue where an earlier run stopped."""
    options = arguments(__doc__ or "", "referee")
    seeds = (0,) if options.quick else kink.SEEDS
    results = Results("referee", {**PROTOCOL, "quick": options.quick}, options.out, fresh=options.fresh)
    for seed in seeds:
        run_seed(results, seed, options.quick)
    draw(results, seeds)
    table(results, seeds)
    print(f"results: {results.path}")


def table(results: Results, seeds: tuple[int, ...]) -> None:
    """Both of each seed, on the console."""
    metrics = ("process_variance", "noise_variance", "rmse", "log_density", "coverage", "band_std", "cpu_seconds")
    print(f"{'':24s}" + "".join(f"{name:>18s}" for name in metrics))
    for seed in seeds:
        for method in ("marginal", "particle Gibbs"):
            values = [results.values(metric, method=method, seed=seed)[0] for metric in metrics]
            print(f"{method + ', ' + str(seed):24s}" + "".join(f"{value:18.4f}" for value in values))


def draw(results: Results, seeds: tuple[int, ...]) -> None:
    """Bands of the first seed, and the process noise of all."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained")
    for name, label, colour in (
        (f"referee_{seeds[0]}", "particle Gibbs", "C0"),
        (f"referee_marginal_{seeds[0]}", "marginal", "C1"),
    ):
        stored = np.load(results.out / f"{name}.npz")
        grid, off = stored["grid"], stored["mean"] - np.asarray(Kink().function(stored["grid"]))
        left.fill_between(grid, off - 1.96 * stored["std"], off + 1.96 * stored["std"], alpha=0.3, lw=0, color=colour)
        left.plot(grid, off, lw=1.4, color=colour, label=label)
    left.axhline(0.0, color="black", lw=0.8)
    left.set(xlabel="state now", ylabel="learnt less true function", title=f"95 % bands, seed {seeds[0]}")
    left.legend(fontsize=8)
    for seed in seeds:

        def value(metric: str, method: str = "particle Gibbs", seed: int = seed) -> float:
            return results.values(metric, method=method, seed=seed)[0]

        right.plot([seed, seed], [value("process_variance_low"), value("process_variance_high")], color="C0", lw=3)
        right.plot(seed, value("process_variance"), "_", color="black", ms=12)
        right.plot(seed, value("process_variance", "marginal"), "o", color="C1")
    right.axhline(0.01, color="black", lw=0.8)
    right.set(xlabel="seed", ylabel="process variance", title="90 % intervals, and marginal inference", xticks=seeds)
    figure.savefig(results.out / "referee.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
