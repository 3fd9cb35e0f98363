"""What the model was shown and what it was judged on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpssm.plots._style import MEASURED, OTHER, QUIET, time_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpssm.data import Episodes


def data(axes: Axes, held_out: Episodes, training: Episodes | None = None, *, channel: str) -> Axes:
    """One channel, input or output, of all records laid end to end: training data grey, held-out data black.

    Missing measurements are gaps; where one record ends and the next begins there is a thin line.
    """
    dt = held_out.dt
    scale = 1.0 if dt is None else dt
    start = 0
    for episodes, colour, name in ((training, QUIET, "training"), (held_out, MEASURED, "held out")):
        for i, episode in enumerate(episodes or ()):
            values = _values(channel, episode.output_names, episode.y_with_nan, episode.input_names, episode.u)
            time = (start + np.arange(len(episode))) * scale
            axes.plot(time, values, color=colour, lw=0.9, label=name if i == 0 else None)
            if start:
                axes.axvline((start - 0.5) * scale, color=OTHER if i == 0 else "0.85", lw=0.8 if i == 0 else 0.5)
            start += len(episode)
    axes.set(xlabel=f"{time_label(dt)}, records end to end", ylabel=channel)
    axes.legend(fontsize="small", loc="upper right")
    return axes


def _values(
    channel: str, outputs: tuple[str, ...], y: np.ndarray, inputs: tuple[str, ...], u: np.ndarray
) -> np.ndarray:
    if channel in outputs:
        return y[:, outputs.index(channel)]
    if channel in inputs:
        return u[:, inputs.index(channel)]
    raise ValueError(f"no channel '{channel}': there are the outputs {list(outputs)} and the inputs {list(inputs)}")
