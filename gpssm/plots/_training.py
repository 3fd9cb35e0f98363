"""How a fit went."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpssm.plots._style import DASHES, OTHER, SERIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpssm._core._history import History


def bound(axes: Axes, history: History) -> Axes:
    """The bound over training steps, and on held-out data where it was taken."""
    axes.plot(history.bound, color=SERIES[0], lw=1.0, label="training")
    if history.held_out:
        steps, scores = zip(*history.held_out, strict=True)
        axes.plot(steps, scores, "o", color=OTHER, ms=4, label="held out")
    axes.set(xlabel="training step", ylabel="bound per time step")
    if len(history.bound):
        axes.set_ylim(bottom=smallest_shown(history.bound))
    return axes


def terms(axes: Axes, history: History) -> Axes:
    """Every term of the bound over training steps; their sum is the bound."""
    lowest = []
    for i, (name, values) in enumerate(history.terms.items()):
        # A term that only a later stage reports belongs to the end of the record.
        steps = np.arange(len(values)) + len(history.bound) - len(values)
        axes.plot(steps, values, color=SERIES[i % len(SERIES)], ls=DASHES[i % len(DASHES)], lw=1.2, label=name)
        lowest.append(smallest_shown(values))
    axes.set(xlabel="training step", ylabel="nats per time step")
    if lowest:
        axes.set_ylim(bottom=min(lowest))
        axes.legend(fontsize="small")
    return axes


def smallest_shown(values: np.ndarray) -> float:
    """Where to cut an axis: the first steps of a training reach so low that the rest would look flat."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0
    low, high = float(np.quantile(finite, 0.05)), float(finite.max())
    return max(float(finite.min()), low - 0.15 * (high - low)) - 0.02 * (high - low) - 1e-9
