"""The figure of all data, and that of the training."""

import numpy as np
import plotly.graph_objects as go

from gpssm._core._history import History
from gpssm.plots import smallest_shown
from gpssm.reporting._figure import MEASURED, OTHER, QUIET, SERIES, every, line, panels, short_label, time_label
from gpssm.reporting._report import Report

TERMS = ("likelihood", "transition", "entropy", "initial", "inducing")
"""The order in which terms are shown; others follow."""


def data(report: Report) -> go.Figure:
    """Every channel of all records laid end to end."""
    names = (*report.output_names, *report.input_names)
    figure = panels(len(names), height=110 + 130 * len(names), share_x=True)
    scale = report.dt or 1.0
    for row, name in enumerate(names, start=1):
        start = 0
        for episodes, colour, kind in ((report.training, QUIET, "training"), (report.episodes, MEASURED, "held out")):
            if episodes is None:
                continue
            times, values = [], []
            for episode in episodes:
                series = episode.y_with_nan if row <= len(report.output_names) else episode.u
                column = (row - 1) if row <= len(report.output_names) else row - 1 - len(report.output_names)
                # A NaN between records breaks the line.
                times += [(start + np.arange(len(episode))) * scale, [np.nan]]
                values += [series[:, column], [np.nan]]
                start += len(episode)
            x, y = np.concatenate(times), np.concatenate(values)
            trace = line(x, y, name=kind, colour=colour, width=1.1, legend=row == 1, step=every(len(x)))
            figure.add_trace(trace, row=row, col=1)
        figure.update_yaxes(title_text=short_label(name), row=row, col=1)
    figure.update_xaxes(title_text=f"{time_label(report.dt)}, records end to end", row=len(names), col=1)
    return figure


def training(history: History) -> go.Figure:
    """The bound, each of its terms, and the noise levels."""
    curves: list[tuple[str, list[tuple[str, np.ndarray]]]] = [("bound", [("training", history.bound)])]
    named = [name for name in TERMS if name in history.terms]
    named += [name for name in history.terms if name not in TERMS]
    curves += [(name, [(name, history.terms[name])]) for name in named]
    for name, values in (("process noise", history.process_noise), ("measurement noise", history.measurement_noise)):
        if values is not None and values.ndim == 2:
            curves.append((f"{name} (std)", [(f"{name} {i + 1}", np.sqrt(v)) for i, v in enumerate(values.T)]))
    rows = -(-len(curves) // 2)
    titles = [title if title == "bound" or "noise" in title else f"term: {title}" for title, _ in curves]
    figure = panels(rows, 2, height=100 + 190 * rows, titles=titles, share_x=False, legend=False)
    for place, (title, series) in enumerate(curves):
        row, column = place // 2 + 1, place % 2 + 1
        for i, (name, values) in enumerate(series):
            steps = np.arange(len(values)) + len(history.bound) - len(values)
            colour = SERIES[i % len(SERIES)]
            trace = line(steps, values, name=name, colour=colour, width=1.3, step=every(len(values)))
            figure.add_trace(trace, row=row, col=column)
        if title == "bound" and history.held_out:
            steps, scores = (np.asarray(v, dtype=float) for v in zip(*history.held_out, strict=True))
            figure.add_trace(line(steps, scores, name="held out", colour=OTHER, markers=True), row=row, col=column)
        _set_range(figure, [values for _, values in series], row, column, from_zero="noise" in title)
        if row == rows or (row == rows - 1 and place + 2 >= len(curves)):
            figure.update_xaxes(title_text="training step", row=row, col=column)
    return figure


def _set_range(figure: go.Figure, series: list[np.ndarray], row: int, column: int, *, from_zero: bool) -> None:
    if from_zero:
        figure.update_yaxes(rangemode="tozero", row=row, col=column)
        return
    finite = np.concatenate([values[np.isfinite(values)] for values in series])
    if len(finite):
        low = min(smallest_shown(values) for values in series)
        top = float(finite.max())
        figure.update_yaxes(range=[low, top + 0.06 * max(top - low, 1e-6)], row=row, col=column)
