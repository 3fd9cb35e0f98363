"""Whether the bands are as wide as they should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpssm.metrics._binomial import binomial_quantile
from gpssm.plots._style import MODEL, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def pit(
    axes: Axes, transforms: np.ndarray, *, num_effective: float | None = None, bins: int = 10, level: float = 0.99
) -> Axes:
    """Histogram of probability integral transforms, flat if the prediction is calibrated, with bounds for one bin.

    The bounds are binomial. Transforms that are correlated in time are worth fewer independent ones: pass that number
    as `num_effective` (see `gpssm.metrics.effective_pit_count`); without it the bounds take all as independent.
    A hump means bands that are too wide, a valley bands that are too narrow, a slope a bias.
    """
    values = transforms[np.isfinite(transforms)]
    heights, edges = np.histogram(values, bins=bins, range=(0.0, 1.0), density=True)
    low, high = pit_bounds(float(len(values)) if num_effective is None else num_effective, bins=bins, level=level)
    axes.bar(edges[:-1], heights, width=1.0 / bins, align="edge", color=MODEL, alpha=0.6, edgecolor="white")
    axes.axhspan(low, high, color=QUIET, alpha=0.3, lw=0, label=f"{100 * level:g} % bounds for one bin")
    axes.axhline(1.0, color="black", lw=0.8)
    axes.set(xlabel="where the measurement fell in its predicted distribution", ylabel="density", xlim=(0.0, 1.0))
    return axes


def pit_bounds(num_effective: float, *, bins: int, level: float = 0.99) -> tuple[float, float]:
    """Between which densities one bin of a flat histogram lies with probability `level`."""
    count = max(1, int(num_effective))
    tail = 0.5 * (1.0 - level)
    low, high = (binomial_quantile(probability, count, 1.0 / bins) for probability in (tail, 1.0 - tail))
    return low * bins / count, high * bins / count
