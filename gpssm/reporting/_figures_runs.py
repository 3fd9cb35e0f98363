"""Figures of predictions beside measurements."""

import numpy as np
import plotly.graph_objects as go

from gpssm.data import Episode
from gpssm.predict import Rollout
from gpssm.reporting._figure import (
    INPUT,
    MEASURED,
    MODEL,
    OTHER,
    QUIET,
    band,
    every,
    line,
    panels,
    short_label,
    time_label,
)
from gpssm.reporting._report import Report


def simulation(report: Report, index: int) -> go.Figure:
    """Free run of one record: each output with band, its error, and the inputs that drove it."""
    episode, rollout = report.episodes[index], report.simulations[index]
    outputs, inputs = len(report.output_names), len(report.input_names)
    heights = [210.0, 100.0] * outputs + [90.0] * inputs
    figure = panels(len(heights), height=110 + int(sum(heights)), share_x=True, heights=heights)
    for i in range(outputs):
        add_prediction(figure, rollout, episode, i, row=2 * i + 1, legend=i == 0)
        _add_error(figure, rollout, episode, i, row=2 * i + 2, legend=i == 0)
    steps, thin = _time(episode), every(len(episode))
    for i, name in enumerate(report.input_names):
        row = 2 * outputs + i + 1
        trace = line(steps, episode.u[:, i], name="input", colour=INPUT, width=1.2, legend=i == 0, step=thin)
        trace.update(line_shape="hv")  # an input is held from one step to the next
        figure.add_trace(trace, row=row, col=1)
        figure.update_yaxes(title_text=short_label(name, 13), nticks=4, row=row, col=1)
    scale = report.dt or 1.0
    figure.add_vline(x=(rollout.start - 0.5) * scale, line={"color": QUIET, "dash": "dash", "width": 1})
    figure.update_xaxes(title_text=time_label(report.dt), row=len(heights), col=1)
    return figure


def ahead(report: Report, index: int, output: int) -> go.Figure:
    """Predictions of one output, one panel for each horizon."""
    horizons = list(report.predictions)
    titles = [f"{h} step{'s' if h > 1 else ''} ahead of what had been measured" for h in horizons]
    figure = panels(len(horizons), height=120 + 190 * len(horizons), titles=titles, share_x=True)
    for row, horizon in enumerate(horizons, start=1):
        rollout = report.predictions[horizon][index]
        add_prediction(figure, rollout, report.episodes[index], output, row=row, legend=row == 1)
    figure.update_xaxes(title_text=time_label(report.dt), row=len(horizons), col=1)
    return figure


def add_prediction(
    figure: go.Figure, rollout: Rollout, episode: Episode, output: int, *, row: int, legend: bool
) -> None:
    """Band, median and measurements of one output."""
    low, high = _interval(rollout)
    thin = every(len(rollout))
    time, seen = _time(episode), episode.observed[:, output]
    figure.add_trace(
        band(rollout.time, low[:, output], high[:, output], name="95 % band", legend=legend, step=thin), row=row, col=1
    )
    figure.add_trace(
        line(rollout.time, rollout.median[:, output], name="predicted median", colour=MODEL, legend=legend, step=thin),
        row=row,
        col=1,
    )
    dots = line(
        time[seen], episode.y[seen, output], name="measured", colour=MEASURED, markers=True, legend=legend, step=thin
    )
    dots.update(marker_size=4 if len(episode) < 250 else 3)
    figure.add_trace(dots, row=row, col=1)
    shown = np.concatenate([episode.y[seen, output], rollout.median[:, output]])
    limits = _limits(shown, low[:, output], high[:, output])
    figure.update_yaxes(title_text=short_label(rollout.output_names[output]), range=limits, row=row, col=1)


def _add_error(figure: go.Figure, rollout: Rollout, episode: Episode, output: int, *, row: int, legend: bool) -> None:
    """Measurement minus median, with the band that it should keep to."""
    low, high = (side[:, output] - rollout.median[:, output] for side in _interval(rollout))
    steps, thin = slice(rollout.start, rollout.start + len(rollout)), every(len(rollout))
    error = np.where(episode.observed[steps, output], episode.y[steps, output] - rollout.median[:, output], np.nan)
    figure.add_trace(band(rollout.time, low, high, name="95 % band", legend=False, step=thin), row=row, col=1)
    figure.add_trace(
        line(rollout.time, error, name="error", colour=OTHER, width=1.1, legend=legend, step=thin), row=row, col=1
    )
    figure.update_yaxes(title_text="error", nticks=4, range=_limits(error, low, high), row=row, col=1)


def _limits(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[float] | None:
    """The range of an axis, cut where a very wide band would make everything else flat; None lets the figure choose."""
    values = values[np.isfinite(values)]
    if not len(values) or not (np.isfinite(low).all() and np.isfinite(high).all()):
        return None
    bottom, top = float(values.min()), float(values.max())
    room = (top - bottom) or 1.0
    below, above = max(float(low.min()), bottom - room), min(float(high.max()), top + room)
    margin = 0.05 * room
    return [min(below, bottom) - margin, max(above, top) + margin]


def _interval(rollout: Rollout) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(all="ignore"):  # what is not finite is not drawn
        return rollout.interval(0.95)


def _time(episode: Episode) -> np.ndarray:
    return np.arange(len(episode)) * (episode.dt or 1.0)
