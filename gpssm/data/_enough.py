"""Whether there are enough measurements for a model of a given size."""

from gpssm.data._episodes import Episodes
from gpssm.data._errors import DataError

LEAST_ROWS = 8
"""Rows with a measured output, in all records together, below which nothing can be learnt or judged."""


def measured_rows(episodes: Episodes) -> int:
    """Rows in which at least one output was measured."""
    return sum(int(episode.observed.any(axis=1).sum()) for episode in episodes)


def check_enough(episodes: Episodes, states: int) -> None:
    """Refuse more states than measurements could tell apart.

    By counting: how a linear system with D states and O outputs moves by itself is told by D O numbers, and where it
    starts by D more. With fewer measurements than these every record can be explained, and nothing is learnt.
    """
    measured = sum(int(episode.observed.sum()) for episode in episodes)
    unknowns = states * (episodes.num_outputs + 1)
    if unknowns > measured:
        most = measured // (episodes.num_outputs + 1)
        fix = f"use at most {most} state{'s' if most > 1 else ''}, or add records" if most else "add records"
        raise DataError(
            f"{states} states (or lags) have {unknowns} unknowns even without inputs, noise and nonlinearity, and only "
            f"{measured} values were measured, which are too few: such a model explains everything and predicts "
            f"nothing; {fix}"
        )
