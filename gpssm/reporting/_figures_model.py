"""Figures of what was learnt: latent states and the transition function."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from gpssm.plots import TransitionSlice
from gpssm.predict import States
from gpssm.reporting._figure import MODEL, OTHER, QUIET, SERIES, band, every, line, panels, short_label, time_label

MOST_STATES = 6


def states(smoothed: States, dt: float | None) -> go.Figure:
    """Latent states of a record, with bands."""
    means, spread = smoothed.means, 1.96 * smoothed.std
    rows = min(means.shape[1], MOST_STATES)
    figure = panels(rows, height=100 + 130 * rows, share_x=True)
    time, thin = np.arange(len(means)) * (dt or 1.0), every(len(means))
    for d in range(rows):
        low, high = means[:, d] - spread[:, d], means[:, d] + spread[:, d]
        figure.add_trace(band(time, low, high, name="95 % band", legend=d == 0, step=thin), row=d + 1, col=1)
        trace = line(time, means[:, d], name="mean", colour=MODEL, legend=d == 0, step=thin)
        figure.add_trace(trace, row=d + 1, col=1)
        figure.update_yaxes(title_text=f"state {d + 1}", row=d + 1, col=1)
    figure.update_xaxes(title_text=time_label(dt), row=rows, col=1)
    return figure


def transition(slices: Sequence[TransitionSlice]) -> go.Figure:
    """Curves of a model with one state, else slices: a row for each state, a column for each variable that moves."""
    shown = [s for s in slices if s.state < MOST_STATES]
    return _curves(shown) if not shown[0].is_change else _grid(shown)


def _curves(slices: list[TransitionSlice]) -> go.Figure:
    figure = panels(1, height=440)
    for i, curve in enumerate(slices):
        colour = SERIES[i % len(SERIES)]
        name = curve.held or "mean"
        shade = _transparent(colour)
        low, high = curve.mean - 1.96 * curve.std, curve.mean + 1.96 * curve.std
        figure.add_trace(band(curve.values, low, high, name=name, colour=shade, legend=False))
        figure.add_trace(line(curve.values, curve.mean, name=name, colour=colour, dash=("solid", "dash", "dot")[i % 3]))
    first = slices[0]
    figure.add_trace(line(first.values, first.values, name="stays as it is", colour=QUIET, width=1.0, dash="dash"))
    if first.inducing_mean is not None:
        figure.add_trace(_points(first.inducing, first.inducing_mean, legend=True))
    elif len(first.inducing):
        lowest = min(float((c.mean - 1.96 * c.std).min()) for c in slices)
        figure.add_trace(_ticks(first.inducing, lowest, legend=True))
    _shade_visited(figure, first, 1, 1)
    figure.update_xaxes(title_text=short_label(first.along))
    figure.update_yaxes(title_text="next state")
    return figure


def _grid(slices: list[TransitionSlice]) -> go.Figure:
    alongs = list(dict.fromkeys(s.along for s in slices))
    rows = max(s.state for s in slices) + 1
    figure = panels(rows, len(alongs), height=130 + 230 * rows, gap=0.1 if rows > 1 else None)
    for i, curve in enumerate(slices):
        row, column = curve.state + 1, alongs.index(curve.along) + 1
        low, high = curve.mean - 1.96 * curve.std, curve.mean + 1.96 * curve.std
        figure.add_trace(band(curve.values, low, high, name="95 % band", legend=i == 0), row=row, col=column)
        figure.add_trace(line(curve.values, curve.mean, name="mean", colour=MODEL, legend=i == 0), row=row, col=column)
        if len(curve.inducing):
            inside = curve.inducing[(curve.inducing >= curve.values[0]) & (curve.inducing <= curve.values[-1])]
            figure.add_trace(_ticks(inside, float(low.min()), legend=i == 0), row=row, col=column)
        _shade_visited(figure, curve, row, column)
        figure.update_xaxes(range=[curve.values[0], curve.values[-1]], row=row, col=column)
        if row == rows:
            figure.update_xaxes(title_text=short_label(curve.along), row=row, col=column)
        if column == 1:
            figure.update_yaxes(title_text=f"change of state {row}", row=row, col=column)
    return figure


def _points(x: np.ndarray, y: np.ndarray, *, legend: bool) -> go.Scatter:
    marker = {"symbol": "triangle-up", "color": OTHER, "size": 9}
    return go.Scatter(x=x, y=y, mode="markers", marker=marker, name="inducing points", showlegend=legend)


def _ticks(x: np.ndarray, height: float, *, legend: bool) -> go.Scatter:
    marker = {"symbol": "line-ns-open", "color": OTHER, "size": 9, "line": {"width": 1.2}}
    return go.Scatter(
        x=x,
        y=np.full(len(x), height),
        mode="markers",
        marker=marker,
        name="inducing points",
        legendgroup="inducing points",
        showlegend=legend,
    )


def _shade_visited(figure: go.Figure, curve: TransitionSlice, row: int, column: int) -> None:
    low, high = np.quantile(curve.visited, [0.05, 0.95])
    shade = {"fillcolor": "#000000", "opacity": 0.06, "line_width": 0, "layer": "below"}
    figure.add_vrect(x0=float(low), x1=float(high), row=row, col=column, **shade)  # pyright: ignore[reportArgumentType]


def _transparent(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.15)"
