"""Colours and labels that all figures share."""

MODEL = "#0072B2"
"""What the model says."""
MEASURED = "#000000"
"""What a sensor said."""
OTHER = "#D55E00"
"""A second thing to tell from the model: inducing points, alarms."""
INPUT = "#009E73"
QUIET = "#8A8A8A"
"""Bounds, references and training data."""

SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""For several things side by side; told apart in a grey print by their line styles, which change with them."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


def time_label(dt: float | None) -> str:
    """The label of a time axis: the unit of time is that in which `dt` was given."""
    return "step" if dt is None else f"time (sampled every {dt:g})"
