"""The data in numbers: what was trained on, what was held out, and whether the one covers the other."""

from dataclasses import dataclass
from typing import final

import numpy as np

from gpssm.data import Episodes


@final
@dataclass(frozen=True)
class Channel:
    """One channel over all records of a set."""

    name: str
    is_input: bool
    mean: float
    std: float
    smallest: float
    largest: float
    missing: float
    """Share of steps without a value."""
    outside: float | None
    """Share of values outside the range of the training data; None for that data itself, or if it is not given."""


@final
@dataclass(frozen=True)
class DataSummary:
    """Counts and channel statistics of a set of records."""

    records: int
    steps: int
    shortest: int
    longest: int
    dt: float | None
    channels: tuple[Channel, ...]


def summarise(episodes: Episodes, training: Episodes | None = None) -> DataSummary:
    """The numbers of a set of records, judged by the ranges of the training data if they are given."""
    lengths = [len(episode) for episode in episodes]
    channels = []
    for is_input, names in ((False, episodes.output_names), (True, episodes.input_names)):
        for column, name in enumerate(names):
            values = _values(episodes, column, is_input)
            known = values[np.isfinite(values)]
            outside = None
            if training is not None and len(known):
                seen = _values(training, column, is_input)
                outside = float(np.mean((known < np.nanmin(seen)) | (known > np.nanmax(seen))))
            channels.append(
                Channel(
                    name=name,
                    is_input=is_input,
                    mean=float(known.mean()) if len(known) else float("nan"),
                    std=float(known.std()) if len(known) else float("nan"),
                    smallest=float(known.min()) if len(known) else float("nan"),
                    largest=float(known.max()) if len(known) else float("nan"),
                    missing=1.0 - len(known) / len(values),
                    outside=outside,
                )
            )
    return DataSummary(len(lengths), sum(lengths), min(lengths), max(lengths), episodes.dt, tuple(channels))


def _values(episodes: Episodes, column: int, is_input: bool) -> np.ndarray:
    return np.concatenate([(e.u if is_input else e.y_with_nan)[:, column] for e in episodes])
