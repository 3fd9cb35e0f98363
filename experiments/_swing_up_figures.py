"""Figures of the swing-up experiments: sampled futures against truth, latent states, fits of the training episodes."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import jax.random as jr
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from experiments._swing_up import NUM_SAMPLES
from experiments._trials import Study, Test
from gpssm import System, plots

FITS_ACROSS = 5
"""Episodes side by side in the figure of all fits."""


def futures(path: Path, rows: Mapping[str, Mapping[int, tuple[Study, System]]], n_init: Mapping[str, int]) -> None:
    """One panel for each case and number of training episodes: the positions and angles of the last episode."""
    counts = list(next(iter(rows.values())))
    figure, grid = plt.subplots(
        len(rows), len(counts), figsize=(4.2 * len(counts), 3.2 * len(rows)), layout="constrained", squeeze=False
    )
    for line, (case, systems) in zip(grid, rows.items(), strict=True):
        for axes, (count, (study, system)) in zip(line, systems.items(), strict=True):
            sampled_future(axes, study, system, study.tests[0], n_init[case])
            axes.set_title(f"{case}, {count} episodes", fontsize=9)
    grid[0, 0].legend(fontsize=7)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def sampled_future(axes: Axes, study: Study, system: System, test: Test, n_init: int) -> Axes:
    """Samples of every position and angle with the truth on top. The axis is set by the truth, not by stray samples."""
    predicted = system.simulate(test.episode, n_init=n_init, num_samples=NUM_SAMPLES, key=jr.key(0))
    shown = [i for i, state in enumerate(study.observed) if "velocity" not in study.task.system.state_names[state]]
    for colour, output in enumerate(shown):
        for sample in predicted.signals[:30]:
            axes.plot(predicted.time, sample[:, output], color=f"C{colour}", alpha=0.15, lw=0.7)
        truth = test.states[:, study.observed[output]]
        time = np.arange(len(truth)) * study.task.system.dt
        axes.plot(time, truth, ".-", ms=4, lw=0.8, color=f"C{colour}", label=predicted.output_names[output])
    shown_truth = test.states[:, [study.observed[i] for i in shown]]
    margin = 0.35 * (shown_truth.max() - shown_truth.min()) + 0.2
    axes.set(ylim=(shown_truth.min() - margin, shown_truth.max() + margin), xlabel="time, s")
    return axes


def latent_states(path: Path, study: Study, system: System, count: int) -> None:
    """The learnt states of the last training episodes."""
    episodes = list(study.first(count))[-3:]
    figure, grid = plt.subplots(
        1, len(episodes), figsize=(4.2 * len(episodes), 3.0), layout="constrained", squeeze=False
    )
    for axes, episode in zip(grid.flat, episodes, strict=True):
        states = system.smooth(episode)
        steps = np.arange(len(episode))
        for d in range(states.means.shape[1]):
            mean, std = states.means[:, d], states.std[:, d]
            axes.fill_between(steps, mean - 2 * std, mean + 2 * std, color=f"C{d}", alpha=0.2, lw=0)
            axes.plot(steps, mean, color=f"C{d}", lw=1.2, label=f"state {d + 1}")
        axes.set(title=f"training {episode.name}", xlabel="step")
    grid[0, 0].legend(fontsize=7)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def training_fits(path: Path, study: Study, system: System, count: int, n_init: int) -> None:
    """Free simulation of every training episode, all outputs; a few episodes side by side, then the next few below."""
    episodes, outputs = list(study.first(count)), len(study.observed)
    bands = -(-count // FITS_ACROSS)
    shape = (bands * outputs, min(count, FITS_ACROSS))
    figure, grid = plt.subplots(*shape, figsize=(2.8 * shape[1], 1.5 * shape[0]), layout="constrained", squeeze=False)
    for number, episode in enumerate(episodes):
        band, column = divmod(number, FITS_ACROSS)
        predicted = system.simulate(episode, n_init=n_init, num_samples=NUM_SAMPLES, key=jr.key(number))
        for output in range(outputs):
            axes = plots.rollout(grid[band * outputs + output, column], predicted, episode, output=output, paths=0)
            low, high = episode.y[:, output].min(), episode.y[:, output].max()
            axes.set(ylim=(low - 0.5 * (high - low) - 0.1, high + 0.5 * (high - low) + 0.1), xlabel="")
            axes.set_ylabel(predicted.output_names[output] if column == 0 else "")
            axes.set_title(episode.name if output == 0 else "", fontsize=8)
            axes.tick_params(labelsize=6)
    for axes in grid[(bands - 1) * outputs :, (count - 1) % FITS_ACROSS + 1 :].flat:
        axes.set_axis_off()
    figure.savefig(path, dpi=90)
    plt.close(figure)
