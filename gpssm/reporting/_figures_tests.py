"""Figures of the residual tests and of calibration."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from gpssm.evaluate import Score
from gpssm.metrics import IndependenceResult, WhitenessResult
from gpssm.plots import pit_bounds
from gpssm.reporting._figure import MODEL, OTHER, QUIET, SERIES, band, label, line, panels, short_label

BINS = 10
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")


def autocorrelation(test: WhitenessResult, names: Sequence[str]) -> go.Figure:
    """Autocorrelation of the one-step errors of each output, with bounds."""
    figure = panels(len(names), height=100 + 170 * len(names), share_x=True)
    for i, name in enumerate(names):
        _stems(figure, test.lags, test.autocorrelation[:, i], test.lower[:, i], test.upper[:, i], i + 1, 1, i == 0)
        figure.update_yaxes(title_text=short_label(name), row=i + 1, col=1)
    figure.update_xaxes(title_text="lag in steps", row=len(names), col=1)
    return figure


def cross_correlation(test: IndependenceResult, outputs: Sequence[str], inputs: Sequence[str]) -> go.Figure:
    """Correlation of the errors of each output (rows) with each past input (columns), with bounds."""
    titles = [f"{o} with past {u}" for o in outputs for u in inputs]
    figure = panels(len(outputs), len(inputs), height=110 + 190 * len(outputs), titles=titles)
    for i in range(len(outputs)):
        for j in range(len(inputs)):
            limit, values = test.bound[:, i, j], test.cross_correlation[:, i, j]
            _stems(figure, test.lags, values, -limit, limit, i + 1, j + 1, i == j == 0)
            if i == len(outputs) - 1:
                figure.update_xaxes(title_text="lag in steps", row=i + 1, col=j + 1)
    return figure


def pit(scores: Sequence[Score]) -> go.Figure:
    """Histograms of where measurements fell in their predicted distributions."""
    titles = [f"{score.name}{'' if score.horizon is None else ' ahead'}" for score in scores]
    figure = panels(1, len(scores), height=290, titles=titles, legend=False)
    edges = np.linspace(0.0, 1.0, BINS + 1)
    for i, score in enumerate(scores):
        heights = np.histogram(score.pit, bins=edges, density=True)[0] if len(score.pit) else np.zeros(BINS)
        low, high = pit_bounds(score.num_effective, bins=BINS)
        outside = (heights < low) | (heights > high)
        bars = go.Bar(
            x=0.5 * (edges[1:] + edges[:-1]),
            y=heights,
            width=1.0 / BINS,
            marker={"color": [OTHER if o else MODEL for o in outside], "line": {"color": "white", "width": 1}},
            opacity=0.75,
            name=titles[i],
        )
        figure.add_trace(bars, row=1, col=i + 1)
        box = {"fillcolor": QUIET, "opacity": 0.3, "line_width": 0, "layer": "below"}
        figure.add_shape(type="rect", x0=0.0, x1=1.0, y0=low, y1=high, row=1, col=i + 1, **box)
        for edge in (low, high):
            figure.add_hline(y=edge, line={"color": QUIET, "width": 1, "dash": "dot"}, row=1, col=i + 1)  # pyright: ignore[reportArgumentType]
        figure.add_hline(y=1.0, line={"color": "black", "width": 1}, row=1, col=i + 1)  # pyright: ignore[reportArgumentType]
        figure.update_xaxes(title_text="place in the predicted distribution", range=[0, 1], row=1, col=i + 1)
        figure.update_yaxes(range=[0.0, 1.12 * max(high, float(heights.max()))], row=1, col=i + 1)
    figure.update_yaxes(title_text="density", row=1, col=1)
    return figure


def coverage(entries: Sequence[tuple[str, Sequence[Score]]]) -> go.Figure:
    """Share of measurements inside the bands by horizon; one panel for each level, one series for each model."""
    levels = entries[0][1][0].coverage.levels
    titles = [f"{100 * level:g} % band" for level in levels]
    figure = panels(1, len(levels), height=320, titles=titles, legend=len(entries) > 1)
    for j, level in enumerate(levels):
        for i, (name, scores) in enumerate(entries):
            offset = 0.16 * (i - 0.5 * (len(entries) - 1))
            places = np.arange(len(scores)) + offset
            shares = np.array([score.coverage.observed[j] for score in scores])
            low = np.array([score.coverage.lower[j] for score in scores])
            high = np.array([score.coverage.upper[j] for score in scores])
            colour = SERIES[i % len(SERIES)]
            for place, a, b in zip(places, low, high, strict=True):
                box = {"fillcolor": QUIET, "opacity": 0.35, "line_width": 0, "layer": "below"}
                figure.add_shape(
                    type="rect", x0=place - 0.07, x1=place + 0.07, y0=100 * a, y1=100 * b, row=1, col=j + 1, **box
                )
            outside = (shares < low) | (shares > high)
            symbols = [f"{SYMBOLS[i % len(SYMBOLS)]}{'-open' if o else ''}" for o in outside]
            marker = {"color": colour, "size": 10, "symbol": symbols, "line": {"width": 2, "color": colour}}
            figure.add_trace(
                go.Scatter(
                    x=places,
                    y=100 * shares,
                    mode="markers",
                    marker=marker,
                    name=label(name),
                    legendgroup=label(name),
                    showlegend=j == 0,
                    hovertemplate="%{y:.1f} %<extra></extra>",
                ),
                row=1,
                col=j + 1,
            )
        line_style = {"color": "black", "width": 1, "dash": "dash"}
        figure.add_hline(y=100 * level, line=line_style, row=1, col=j + 1)  # pyright: ignore[reportArgumentType]
        names = [score.name for score in entries[0][1]]
        figure.update_xaxes(tickvals=list(range(len(names))), ticktext=names, row=1, col=j + 1)
    figure.update_yaxes(title_text="% inside", row=1, col=1)
    return figure


def _stems(
    figure: go.Figure,
    lags: np.ndarray,
    values: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    row: int,
    column: int,
    legend: bool,
) -> None:
    outside = (values < low) | (values > high)
    grey = "rgba(120, 120, 120, 0.25)"
    figure.add_trace(
        band(lags, low, high, name="bounds at each lag (99 %)", colour=grey, legend=legend), row=row, col=column
    )
    # One trace of vertical strokes: NaN lifts the pen.
    x = np.repeat(lags.astype(float), 3)
    y = np.stack([np.zeros(len(lags)), values, np.full(len(lags), np.nan)], axis=1).ravel()
    figure.add_trace(line(x, y, name="stems", colour=MODEL, legend=False), row=row, col=column)
    marker = {
        "color": [OTHER if o else MODEL for o in outside],
        "symbol": ["diamond" if o else "circle" for o in outside],
        "size": [10 if o else 7 for o in outside],
    }
    figure.add_trace(
        go.Scatter(
            x=lags,
            y=values,
            mode="markers",
            marker=marker,
            name="correlation (diamond: outside)",
            legendgroup="correlation",
            showlegend=legend,
        ),
        row=row,
        col=column,
    )
    figure.add_hline(y=0.0, line={"color": "black", "width": 0.8}, row=row, col=column)  # pyright: ignore[reportArgumentType]
