"""Figures for papers and reports: each function draws on a Matplotlib `Axes` and returns it.

Colours are those of Okabe and Ito, which people with colour blindness can tell apart and which keep their order in a
grey print. Axes are labelled with the names of the channels; time is in the units of `dt`, or in steps.
"""

from gpssm.plots._calibration import pit, pit_bounds
from gpssm.plots._correlation import input_correlation, residual_correlation
from gpssm.plots._data import data
from gpssm.plots._rollout import against, rollout
from gpssm.plots._slices import TransitionSlice, transition_slices
from gpssm.plots._states import states
from gpssm.plots._style import time_label
from gpssm.plots._training import bound, smallest_shown, terms
from gpssm.plots._transition import transition

__all__ = [
    "TransitionSlice",
    "against",
    "bound",
    "data",
    "input_correlation",
    "pit",
    "pit_bounds",
    "residual_correlation",
    "rollout",
    "smallest_shown",
    "states",
    "terms",
    "time_label",
    "transition",
    "transition_slices",
]
