"""Residual tests as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpssm.plots._style import MODEL, OTHER, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpssm.metrics import IndependenceResult, WhitenessResult


def residual_correlation(axes: Axes, test: WhitenessResult, *, output: int = 0, name: str | None = None) -> Axes:
    """Autocorrelation of the residuals of one output, with the bounds that white residuals keep at each lag."""
    return _bars(
        axes,
        test.lags,
        test.autocorrelation[:, output],
        test.lower[:, output],
        test.upper[:, output],
        f"autocorrelation of the residuals of {name}" if name else "autocorrelation",
    )


def input_correlation(
    axes: Axes, test: IndependenceResult, *, output: int = 0, channel: int = 0, name: str | None = None
) -> Axes:
    """Correlation of the residuals of one output with one past input, with the bounds for no dependence."""
    limit = test.bound[:, output, channel]
    label = f"correlation with {name}" if name else "correlation with the input"
    return _bars(axes, test.lags, test.cross_correlation[:, output, channel], -limit, limit, label)


def _bars(axes: Axes, lags: np.ndarray, values: np.ndarray, low: np.ndarray, high: np.ndarray, label: str) -> Axes:
    outside = (values < low) | (values > high)
    axes.fill_between(lags, low, high, color=QUIET, alpha=0.25, lw=0, label="bounds at each lag")
    axes.vlines(lags, 0.0, values, colors=[OTHER if out else MODEL for out in outside], lw=1.5)
    axes.plot(lags[~outside], values[~outside], "o", color=MODEL, ms=3.5)
    if outside.any():
        # The shape says it, too, for prints without colour.
        axes.plot(lags[outside], values[outside], "D", color=OTHER, ms=4.5, label="outside")
    axes.axhline(0.0, color="black", lw=0.6)
    axes.set(xlabel="lag in steps", ylabel=label)
    return axes
