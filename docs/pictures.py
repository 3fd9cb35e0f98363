"""Draw the pictures of the concept pages: `python docs/pictures.py` (a minute or two)."""

from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import gpssm
from gpssm.predict import AbstractPredictor
from gpssm.systems import SmoothKink

ASSETS = Path(__file__).with_name("assets")
SYSTEM = SmoothKink(observation_variance=0.08, initial_sd=1.0)
GRID = np.linspace(-3.2, 1.3, 200)
CONTEXT = 10


def main() -> None:
    """Simulate, fit three models, draw three figures."""
    simulated = SYSTEM.simulate(episodes=31, steps=40, key=jr.key(0))
    train, test = simulated.episodes.split(test=1)
    ours = gpssm.Polished(states=1, num_inducing=15, steps=800, iterations=200, network_steps=0)
    learnt = _system(gpssm.fit(train, ours, key=jr.key(1)))
    linear = _system(gpssm.fit(train, gpssm.Linear(1), key=jr.key(2)))
    regression = gpssm.fit(train, gpssm.GPNARX(output_lags=1), key=jr.key(3)).system
    _transition(train, learnt, linear)
    _noisy_inputs(train, learnt, regression)
    _free_run(test[0], learnt, linear)


def _system(fitted: gpssm.Fit) -> gpssm.System:
    assert isinstance(fitted.system, gpssm.System)
    return fitted.system


def _function(system: gpssm.System, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The learnt transition in output units, for a model whose only state is the scaled output."""
    mean, scale = system.scaler.output_mean[0], system.scaler.output_scale[0]
    with jax.enable_x64(True):
        weight = float(system.model.emission.mean(jnp.ones(1))[0] - system.model.emission.mean(jnp.zeros(1))[0])
        offset = float(system.model.emission.mean(jnp.zeros(1))[0])
        dynamics = system.model.transition.condition()
        states = ((x - mean) / scale - offset) / weight
        values, variances = jax.vmap(lambda s: dynamics.moments(s, jnp.zeros(0)))(jnp.asarray(states)[:, None])
    following = (np.asarray(values)[:, 0] * weight + offset) * scale + mean
    return following, np.sqrt(np.asarray(variances)[:, 0]) * abs(weight) * scale


def _background(axes: Axes, train: gpssm.Episodes) -> None:
    now, following = (np.concatenate([cut(e.y[:, 0]) for e in train]) for cut in (lambda y: y[:-1], lambda y: y[1:]))
    axes.plot(now, following, ".", ms=2, color="0.78", label="outputs, this and next")
    axes.plot(GRID, np.asarray(SYSTEM.function(jnp.asarray(GRID))), color="black", lw=1.4, label="true function")
    axes.set(xlabel="state now", ylabel="next state", xlim=(-3.6, 1.7), ylim=(-4.2, 2.2))


def _curve(axes: Axes, mean: np.ndarray, std: np.ndarray, label: str, colour: str = "C0") -> None:
    axes.fill_between(GRID, mean - 2 * std, mean + 2 * std, color=colour, alpha=0.25, lw=0)
    axes.plot(GRID, mean, color=colour, lw=1.8, label=label)


def _transition(train: gpssm.Episodes, learnt: gpssm.System, linear: gpssm.System) -> None:
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    _background(axes, train)
    axes.plot(GRID, _function(linear, GRID)[0], color="C1", lw=1.8, label="linear model")
    _curve(axes, *_function(learnt, GRID), "learnt function, two standard deviations")
    axes.legend(fontsize=8)
    figure.savefig(ASSETS / "concept_transition.png", dpi=130)


def _noisy_inputs(train: gpssm.Episodes, learnt: gpssm.System, regression: AbstractPredictor) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), sharey=True, layout="constrained")
    for axes, title in ((left, "regression on noisy outputs"), (right, "state-space model")):
        _background(axes, train)
        axes.set_title(title, fontsize=10)
    # A record whose samples are the grid: each is predicted from the one before, so shift by one.
    points = gpssm.Episode(y=np.append(GRID, GRID[-1]), output_names=train.output_names)
    ahead = regression.predict(points, horizon=1, num_samples=100, key=jr.key(0))
    mean, std = ahead.signals.mean(axis=0)[:, 0], ahead.signals.std(axis=0)[:, 0]
    _curve(left, mean, std, "mean of the regression", "C3")
    _curve(right, *_function(learnt, GRID), "learnt function")
    left.legend(fontsize=8)
    right.legend(fontsize=8)
    figure.savefig(ASSETS / "concept_noisy_inputs.png", dpi=130)


def _free_run(record: gpssm.Episode, learnt: gpssm.System, linear: gpssm.System) -> None:
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.4), sharey=True, layout="constrained")
    for axes, system, title in zip(panels, (linear, learnt), ("linear", "Gaussian process"), strict=True):
        gpssm.plots.rollout(axes, system.simulate(record, n_init=CONTEXT, key=jr.key(4)), record)
        axes.set_title(title, fontsize=10)
    panels[0].legend(fontsize=8)
    figure.savefig(ASSETS / "concept_free_run.png", dpi=130)


if __name__ == "__main__":
    main()
