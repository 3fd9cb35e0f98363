"""Figures for papers and reports: each function draws on an `Axes` and returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpssm._history import History
    from gpssm.data import Episode
    from gpssm.predict import Rollout


def rollout(
    axes: Axes, predicted: Rollout, measured: Episode | None = None, *, output: int = 0, paths: int = 8
) -> Axes:
    """Mean, 95 % band and a few sampled trajectories of one output, with the measured record where it is known."""
    time = predicted.time
    low, high = predicted.interval(0.95)
    axes.fill_between(time, low[:, output], high[:, output], color="C0", alpha=0.2, lw=0, label="95 % band")
    for path in predicted.signals[:paths]:
        axes.plot(time, path[:, output], color="C0", alpha=0.35, lw=0.7)
    axes.plot(time, predicted.mean[:, output], color="C0", lw=1.6, label="simulated mean")
    if measured is not None:
        scale = 1.0 if predicted.dt is None else predicted.dt
        seen = measured.observed[:, output]
        steps = np.arange(len(measured))
        axes.plot(steps[seen] * scale, measured.y[seen, output], ".", color="black", ms=4, label="measured")
        axes.axvline((predicted.start - 0.5) * scale, color="0.5", lw=0.8, ls="--")
    axes.set(xlabel="time" if predicted.dt is not None else "step", ylabel=predicted.output_names[output])
    return axes


def bound(axes: Axes, history: History) -> Axes:
    """The bound over training steps."""
    axes.plot(history.bound, lw=1.0)
    rising = np.quantile(history.bound, 0.02) if len(history.bound) else 0.0
    axes.set(xlabel="step", ylabel="bound per time step", ylim=(rising, None))
    return axes


def against(axes: Axes, truth: np.ndarray, estimate: np.ndarray, *, name: str) -> Axes:
    """Estimate against truth, with the line on which they would agree."""
    limits = [min(truth.min(), estimate.min()), max(truth.max(), estimate.max())]
    axes.plot(limits, limits, color="0.5", lw=0.8)
    axes.plot(truth, estimate, ".", ms=4, alpha=0.6)
    axes.set(xlabel=f"true {name}", ylabel=f"{name} read off the latent states")
    return axes
