"""Systems drawn from the model's own prior, and what models that were fitted to their records are right about.

Nothing but the number of states, and that outputs are states, is known to a method. So coverage of bands one step
ahead, of free runs by horizon, and of the transition function where the system has been, can be compared with what they
promise, and noises with the truth.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import gpssm
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
