"""Plain arrays, as (u, y) pairs."""

from collections.abc import Sequence
from typing import Any

from gpssm.data import DataError, Episode, Episodes


def from_pairs(
    pairs: Sequence[Any],
    *,
    dt: float | int | None = None,
    output_names: Sequence[str] | None = None,
    input_names: Sequence[str] | None = None,
) -> Episodes:
    """Episodes from pairs (u, y), inputs first, one pair per record; u is None where there are no inputs."""
    episodes = []
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise DataError(f"item {i} is not a pair (u, y); pass a list of such pairs, one per record")
        u, y = pair
        episodes.append(Episode(y=y, u=u, dt=dt, name=f"pair {i}", output_names=output_names, input_names=input_names))
    return Episodes(episodes)
