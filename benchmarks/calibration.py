"""Do bands hold what they say? Systems drawn from the model's own prior, fitted by each method.

    python -m benchmarks.calibration [--quick] [--systems N] [--methods marginal,...]
    python -m benchmarks.calibration --sbc [--quick]

For systems with one and two states and three mixes of noise, a transition function is drawn from the GP prior, records
are simulated, and each method is fitted without knowing anything but the number of states. Reported over all systems:
coverage of 95 % bands one step ahead, of free runs by horizon, and of the transition function where the system has been
(only where the state is the output, so that functions can be compared), and the ratio of both noises to the truth.

With `--sbc`, simulation-based calibration instead: ranks of the truth among draws of particle Gibbs, and of marginal
inference with known hyper-parameters; and whether posteriors that are stretched by 0.8 and 1.25 are noticed.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import gpssm
from benchmarks._results import write_results
from benchmarks._sbc import BY, WIDTHS, verdict
from experiments._results import provenance
from gpssm.methods import AbstractMethod, ModelSpec
from gpssm.models import FadingMean

HORIZONS = {"1 to 3": slice(0, 3), "4 to 10": slice(3, 10), "11 to 40": slice(10, 40)}
"""Steps of a free run that are counted together."""
FADING = 0.7
"""Of the mean function, which all methods with a GP are told."""
MIXES = {"clean": (0.02, 0.002), "even": (0.01, 0.01), "noisy": (0.003, 0.1)}
"""Variances of process and measurement, where states vary by about one."""
EPISODES, STEPS, TESTS = 6, 50, 3
INDUCING = 20
TIMING = "processor seconds of a fit, compiling included"


@dataclass(frozen=True)
class Drawn:
    """A system from the prior, in its own units, and its records."""

    name: str
    states: int
    function: "Features"
    process: float
    noise: float
    train: gpssm.Episodes
    tests: gpssm.Episodes
    visited: np.ndarray
    """States and inputs of the training records."""


@dataclass(frozen=True)
class Features:
    """A draw of an RBF Gaussian process as a sum of cosines, around a mean that fades."""

    frequencies: np.ndarray
    phases: np.ndarray
    weights: np.ndarray

    def __call__(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The next state without noise."""
        waves = np.cos(np.concatenate([x, u], axis=-1) @ self.frequencies.T + self.phases)
        return FADING * x + waves @ self.weights


def draw_system(states: int, mix: str, seed: int) -> Drawn:
    """A function from the prior and records of it; one that runs away is drawn again."""
    process, noise = MIXES[mix]
    for attempt in range(100):
        rng = np.random.default_rng([seed, states, list(MIXES).index(mix), attempt])
        count, size = 300, states + 1
        function = Features(
            rng.standard_normal((count, size)) / 1.5,
            rng.uniform(0.0, 2.0 * np.pi, count),
            0.8 * np.sqrt(2.0 / count) * rng.standard_normal((count, states)),
        )
        records, visited = [], []
        for i in range(EPISODES + TESTS):
            x, u, y = rng.standard_normal(states), rng.standard_normal((STEPS, 1)), []
            for t in range(STEPS):
                y.append(x + np.sqrt(noise) * rng.standard_normal(states))
                if i < EPISODES:
                    visited.append(np.concatenate([x, u[t]]))
                x = function(x, u[t]) + np.sqrt(process) * rng.standard_normal(states)
            records.append(gpssm.Episode(y=np.asarray(y), u=u, name=f"{i}"))
        if np.isfinite(visited).all() and np.abs(visited).max() < 10.0:
            train, tests = gpssm.Episodes(records[:EPISODES]), gpssm.Episodes(records[EPISODES:])
            name = f"{states} states, {mix}, {seed}"
            return Drawn(name, states, function, process, noise, train, tests, np.asarray(visited))
    raise RuntimeError("no system of the prior stays in range")


def methods(states: int) -> dict[str, AbstractMethod]:
    """What is compared. All know the number of states and that outputs are states; nothing else."""
    spec = ModelSpec(states, num_inducing=INDUCING, mean=FadingMean(FADING))
    polish = gpssm.Variational(spec, q_x=gpssm.PerStep(), optimiser=gpssm.optimisers.LBFGS(150))
    return {
        "marginal": gpssm.Marginal(spec),
        "mean field": polish,
        "repaired": polish.then(gpssm.Marginal(rounds=0)),
        "output error": gpssm.OutputError(states, num_inducing=INDUCING),
    }


def judge(system: gpssm.System, drawn: Drawn, *, width: float = 1.0) -> dict[str, float]:
    """Coverages and ratios. `width` scales all bands, to see whether this benchmark notices."""
    found: dict[str, list[float]] = {f"free run {steps}": [] for steps in HORIZONS} | {"one step": []}
    for i, test in enumerate(drawn.tests):
        ahead = system.predict(test, horizon=1, num_samples=400, seed=i)
        found["one step"].append(_widened(ahead, test.y[1:], width).mean())
        free = system.simulate(test, n_init=10, num_samples=400, seed=i)
        inside = _widened(free, test.y[10:], width)
        for steps, where in HORIZONS.items():
            found[f"free run {steps}"].append(inside[where].mean())
    values = {name: float(np.mean(parts)) for name, parts in found.items()}
    scale = system.scaler.output_scale
    process = np.asarray(system.model.transition.noise_variance()) * scale**2
    noise = np.asarray(system.model.emission.noise_variance()) * scale**2
    values["process ratio"] = float(np.exp(np.mean(np.log(process / drawn.process))))
    values["noise ratio"] = float(np.exp(np.mean(np.log(noise / drawn.noise))))
    values["function"] = function_coverage(system, drawn, width)
    return values


def _widened(rollout: gpssm.Rollout, truth: np.ndarray, width: float) -> np.ndarray:
    low, high = np.quantile(rollout.samples, [0.025, 0.975], axis=0)
    middle, half = 0.5 * (low + high), 0.5 * width * (high - low)
    return (truth >= middle - half) & (truth <= middle + half)


def function_coverage(system: gpssm.System, drawn: Drawn, width: float = 1.0) -> float:
    """Share of visited points at which the true function lies within the band of the learnt one. In output-error fits
    states have coordinates of their own, and functions cannot be compared."""
    with jax.enable_x64(True):
        eye = jnp.eye(drawn.states)
        weight = np.asarray(system.model.emission.mean(eye)) - np.asarray(system.model.emission.mean(0.0 * eye))
    if not np.allclose(weight, np.eye(drawn.states)):
        return float("nan")
    scaler = system.scaler
    x, u = drawn.visited[:, : drawn.states], drawn.visited[:, drawn.states :]
    with jax.enable_x64(True):
        dynamics = system.model.transition.condition()
        points = jnp.asarray((x - scaler.output_mean) / scaler.output_scale), jnp.asarray(scaler.apply_inputs(u))
        mean, variance = jax.jit(jax.vmap(dynamics.moments))(*points)
    found = np.asarray(mean) * scaler.output_scale + scaler.output_mean
    half = 1.96 * width * np.sqrt(np.asarray(variance)) * scaler.output_scale
    return float(np.mean(np.abs(drawn.function(x, u) - found) <= half))


def main() -> None:
    """Fit, judge, and write what was found after every system."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one system of each kind")
    parser.add_argument("--systems", type=int, default=7, help="systems of each number of states and mix of noises")
    parser.add_argument("--methods", default=None, help="some of them, separated by commas")
    parser.add_argument("--sbc", action="store_true", help="ranks of the truth among draws from the posterior")
    parser.add_argument("--out", type=Path, default=Path("results/bench"))
    options = parser.parse_args()
    if options.sbc:
        return simulation_based(40 if options.quick else 200, options.out)
    rows, start = [], time.monotonic()
    for seed in range(1 if options.quick else options.systems):
        for states in (1, 2):
            for mix in MIXES:
                drawn = draw_system(states, mix, seed)
                chosen = methods(states)
                for name in options.methods.split(",") if options.methods else chosen:
                    began = time.process_time()
                    fitted = gpssm.fit(drawn.train, chosen[name], progress=gpssm.Silent(), seed=seed)
                    spent = time.process_time() - began
                    assert isinstance(fitted.system, gpssm.System)
                    found = {"system": drawn.name, "states": states, "mix": mix, "seed": seed, "method": name}
                    made = {**provenance(), "cpu_seconds": round(spent, 1)}
                    rows.append({**found, **judge(fitted.system, drawn), **made})
                    print({key: round(v, 3) if isinstance(v, float) else v for key, v in rows[-1].items()}, flush=True)
                    write_results("calibration", options.out, rows, time.monotonic() - start, timing=TIMING)
                jax.clear_caches()
    table(rows)


def simulation_based(count: int, out: Path) -> None:
    """Ranks over so many sets of records, by method and width."""
    rows, start = [], time.monotonic()
    for name, draw in BY.items():
        began = time.process_time()
        truth, draws = draw(count, 0)
        spent = time.process_time() - began
        for width in WIDTHS:
            found = {"method": name, "sets": count, "width": width, **verdict(truth, draws, width=width)}
            rows.append({**found, **provenance(), "cpu_seconds": round(spent, 1)})
            print({key: round(v, 3) if isinstance(v, float) else v for key, v in rows[-1].items()}, flush=True)
        write_results("calibration_sbc", out, rows, time.monotonic() - start, timing=TIMING)


def table(rows: list[dict]) -> None:
    """Means of coverages and medians of ratios, by method and mix."""
    coverages = ("one step", *(f"free run {steps}" for steps in HORIZONS), "function")
    print(f"{'':28s}" + "".join(f"{name:>18s}" for name in (*coverages, "process ratio", "noise ratio")))
    for method in dict.fromkeys(row["method"] for row in rows):
        for mix in ("all", *MIXES):
            part = [row for row in rows if row["method"] == method and mix in ("all", row["mix"])]
            means = [np.nanmean([row[name] for row in part]) for name in coverages]
            ratios = [np.median([row[name] for row in part]) for name in ("process ratio", "noise ratio")]
            print(f"{method + ', ' + mix:28s}" + "".join(f"{value:18.3f}" for value in (*means, *ratios)))


if __name__ == "__main__":
    main()
