"""Latent states over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpssm.plots._style import MODEL, time_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpssm.predict import States


def states(axes: Axes, estimated: States, *, state: int = 0, dt: float | None = None) -> Axes:
    """Mean and 95 % band of one latent state, in the model's own units."""
    mean, spread = estimated.means[:, state], 1.96 * estimated.std[:, state]
    time = np.arange(len(mean)) * (1.0 if dt is None else dt)
    axes.fill_between(time, mean - spread, mean + spread, color=MODEL, alpha=0.2, lw=0, label="95 % band")
    axes.plot(time, mean, color=MODEL, lw=1.3, label="mean")
    axes.set(xlabel=time_label(dt), ylabel=f"state {state + 1}")
    return axes
