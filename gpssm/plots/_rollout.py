"""Predictions beside measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpssm.plots._style import MEASURED, MODEL, QUIET, time_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpssm.data import Episode
    from gpssm.predict import Rollout


def rollout(
    axes: Axes, predicted: Rollout, measured: Episode | None = None, *, output: int = 0, paths: int = 8
) -> Axes:
    """Mean, 95 % band and a few sampled trajectories of one output, with the measured record where it is known.

    A dashed line marks the first predicted step. Trajectories are those of a free run; for a prediction of a fixed
    horizon, whose steps start from different states, pass `paths=0`.
    """
    time = predicted.time
    low, high = predicted.interval(0.95)
    axes.fill_between(time, low[:, output], high[:, output], color=MODEL, alpha=0.2, lw=0, label="95 % band")
    for path in predicted.signals[:paths]:
        axes.plot(time, path[:, output], color=MODEL, alpha=0.35, lw=0.7)
    axes.plot(time, predicted.median[:, output], color=MODEL, lw=1.6, label="predicted median")
    if measured is not None:
        scale = 1.0 if predicted.dt is None else predicted.dt
        seen = measured.observed[:, output]
        steps = np.arange(len(measured))
        axes.plot(steps[seen] * scale, measured.y[seen, output], ".", color=MEASURED, ms=4, label="measured")
        axes.axvline((predicted.start - 0.5) * scale, color=QUIET, lw=0.8, ls="--")
    axes.set(xlabel=time_label(predicted.dt), ylabel=predicted.output_names[output])
    return axes


def against(axes: Axes, truth: np.ndarray, estimate: np.ndarray, *, name: str) -> Axes:
    """Estimate against truth, with the line on which they would agree."""
    limits = [min(truth.min(), estimate.min()), max(truth.max(), estimate.max())]
    axes.plot(limits, limits, color=QUIET, lw=0.8)
    axes.plot(truth, estimate, ".", color=MODEL, ms=4, alpha=0.6)
    axes.set(xlabel=f"true {name}", ylabel=f"{name} read off the latent states")
    return axes
