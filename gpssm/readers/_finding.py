"""What an examination finds, and findings about records as a whole."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from gpssm.data import Episodes
from gpssm.data._enough import LEAST_ROWS, measured_rows

OTHER_UNIT = 100.0
"""How many times as large as the others a record may be before that is said."""


@dataclass(frozen=True)
class Finding:
    """Something worth knowing about one channel or record. A serious one makes the records unfit for learning."""

    channel: str
    message: str
    advice: str
    serious: bool = False


def few(episodes: Episodes) -> Iterator[Finding]:
    """So few rows that nothing can be learnt."""
    rows = measured_rows(episodes)
    if rows < LEAST_ROWS:
        yield Finding(
            "the records",
            f"have {rows} measured row{'s' if rows != 1 else ''} in all",
            f"add samples: a model needs at least {LEAST_ROWS}, better hundreds",
            serious=True,
        )


def scales(episodes: Episodes) -> Iterator[Finding]:
    """A record whose numbers are hundreds of times those of the others was written in another unit, like as not."""
    for name, role, sizes in _sizes(episodes):
        known = sorted(size for size in sizes if size > 0.0)
        if len(known) < 2:
            continue
        usual = known[(len(known) - 1) // 2]  # of two the smaller
        for episode, size in zip(episodes, sizes, strict=True):
            if size > OTHER_UNIT * usual:
                yield Finding(
                    f"column '{name}' ({role})",
                    f"is {size / usual:.3g} times as large in {episode.name} as in most records",
                    "if that record is in another unit, convert it",
                )


def _sizes(episodes: Episodes) -> Iterator[tuple[str, str, list[float]]]:
    """The typical absolute value of each channel in each record."""
    for i, name in enumerate(episodes.output_names):
        yield name, "output", [_size(episode.y[episode.observed[:, i], i]) for episode in episodes]
    for i, name in enumerate(episodes.input_names):
        yield name, "input", [_size(episode.u[:, i]) for episode in episodes]


def _size(values: Float64[np.ndarray, " N"]) -> float:
    return float(np.median(np.abs(values))) if len(values) else 0.0
