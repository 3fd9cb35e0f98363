"""What all interactive figures share: layout, colours, labels, and thinning of long series."""

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from gpssm.plots._style import INPUT, MEASURED, MODEL, OTHER, QUIET, SERIES, time_label

__all__ = [
    "INPUT",
    "MEASURED",
    "MODEL",
    "OTHER",
    "QUIET",
    "SERIES",
    "band",
    "every",
    "label",
    "line",
    "panels",
    "short_label",
    "time_label",
]

MOST_POINTS = 4000
BAND = "rgba(0, 114, 178, 0.20)"
_FONT = {"family": "system-ui, sans-serif", "size": 13, "color": "#222222"}
_AXIS = {
    "gridcolor": "#e8e8e8",
    "zeroline": False,
    "linecolor": "#999999",
    "showline": True,
    "ticks": "outside",
    "tickcolor": "#999999",
    "automargin": True,
    "title": {"font": {"size": 13}},
}


def label(text: str) -> str:
    """A user's text in a figure, where a few tags would have a meaning."""
    return html.escape(text, quote=False)


def short_label(text: str, most: int = 22) -> str:
    """A user's text beside an axis, where there is room for little."""
    return label(text if len(text) <= most else text[: most - 1] + "…")


def every(count: int) -> int:
    """Draw every so-manieth point of a series of this length."""
    return -(-count // MOST_POINTS)


def panels(
    rows: int,
    columns: int = 1,
    *,
    height: int,
    titles: Sequence[str] = (),
    share_x: bool = False,
    share_y: bool = False,
    gap: float | None = None,
    heights: Sequence[float] | None = None,
    legend: bool = True,
) -> go.Figure:
    """An empty figure with panels in rows and columns."""
    spacing = (70.0 if titles or not share_x else 26.0) / max(height - 110, 1) if gap is None else gap
    figure = make_subplots(
        rows=rows,
        cols=columns,
        shared_xaxes=share_x,
        shared_yaxes=share_y,
        subplot_titles=[label(title) for title in titles] if titles else None,
        vertical_spacing=min(spacing, 0.9 / max(rows - 1, 1)),
        horizontal_spacing=0.085 if columns > 1 else 0.0,
        row_heights=list(heights) if heights is not None else None,
    )
    figure.update_layout(
        template="none",
        height=height,
        font=_FONT,
        paper_bgcolor="white",
        plot_bgcolor="white",
        margin={"l": 70, "r": 20, "t": (36 if titles else 12) + (28 if legend else 0), "b": 58},
        showlegend=legend,
        legend={"orientation": "h", "x": 0.0, "y": 1.0, "yref": "container", "yanchor": "top", "font": {"size": 12}},
        hovermode="closest",
    )
    figure.update_xaxes(**_AXIS)
    figure.update_yaxes(**_AXIS)
    figure.update_annotations(font_size=12.5)
    return figure


def line(
    x: np.ndarray,
    y: np.ndarray,
    *,
    name: str,
    colour: str,
    width: float = 1.6,
    dash: str = "solid",
    legend: bool = True,
    markers: bool = False,
    step: int = 1,
) -> go.Scatter:
    """A line, or dots, thinned by `step`."""
    style = (
        {"marker": {"color": colour, "size": 4}}
        if markers
        else {"line": {"color": colour, "width": width, "dash": dash}}
    )
    return go.Scatter(
        x=_small(x[::step]),
        y=_small(y[::step]),
        name=label(name),
        legendgroup=label(name),
        mode="markers" if markers else "lines",
        showlegend=legend,
        **style,
    )


def band(
    x: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    name: str,
    colour: str = BAND,
    legend: bool = True,
    step: int = 1,
) -> go.Scatter:
    """A filled stretch between two lines, as one closed trace."""
    there = _small(x[::step])
    return go.Scatter(
        x=np.concatenate([there, there[::-1]]),
        y=np.concatenate([_small(high[::step]), _small(low[::step])[::-1]]),
        name=label(name),
        legendgroup=label(name),
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=colour,
        hoverinfo="skip",
        showlegend=legend,
    )


def _small(values: np.ndarray) -> np.ndarray:
    """Seven digits are enough to draw, and half the size."""
    return np.asarray(values, dtype=np.float32)
