"""The learnt transition function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpssm.plots._style import MODEL, OTHER, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpssm.plots._slices import TransitionSlice


def transition(axes: Axes, curve: TransitionSlice) -> Axes:
    """One curve or slice (see `transition_slices`): mean, 95 % band of the function, inducing points, visited range.

    Inducing points are drawn on the curve where it passes through them, else as ticks at the foot, where they lie along
    the variable that moves. The grey stretch holds the central 90 % of the visited values.
    """
    axes.axvspan(*np.quantile(curve.visited, [0.05, 0.95]), color=QUIET, alpha=0.15, lw=0, label="visited")
    low, high = curve.mean - 1.96 * curve.std, curve.mean + 1.96 * curve.std
    axes.fill_between(curve.values, low, high, color=MODEL, alpha=0.2, lw=0, label="95 % band")
    axes.plot(curve.values, curve.mean, color=MODEL, lw=1.5, label="mean")
    if curve.is_change:
        axes.axhline(0.0, color=QUIET, lw=0.8, ls="--")
    elif curve.moves_itself:
        axes.plot(curve.values, curve.values, color=QUIET, lw=0.8, ls="--", label="stays as it is")
    if curve.inducing_mean is not None:
        axes.plot(curve.inducing, curve.inducing_mean, "^", color=OTHER, ms=5, label="inducing points")
    elif len(curve.inducing):
        feet = np.full(len(curve.inducing), 0.02)
        axes.plot(
            curve.inducing, feet, "|", color=OTHER, ms=8, transform=axes.get_xaxis_transform(), label="inducing points"
        )
    what = f"change of state {curve.state + 1}" if curve.is_change else f"next state {curve.state + 1}"
    axes.set(xlabel=curve.along, ylabel=what, xlim=(curve.values[0], curve.values[-1]))
    if curve.held:
        axes.set_title(curve.held, fontsize="small")
    return axes
