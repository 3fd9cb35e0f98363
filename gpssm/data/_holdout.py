"""One place for what is kept aside to judge a model by, and for how much of it a free run may read first."""

from collections.abc import Iterable

from gpssm.data._episode import Episode
from gpssm.data._episodes import Episodes, part_of
from gpssm.data._errors import DataError

SHORTEST = 8
"""Fewer rows than these say nothing about a free run."""


MANY = 5
"""From this many records on, whole ones are kept aside."""


def hold_out(episodes: Episodes, holdout: float | int | None) -> tuple[Episodes, Episodes | None]:
    """Records to learn from and records to judge by: the last part of each record, or the last few whole records.

    Unless told, a fifth of them: whole records if there are many, else the end of each that is long enough.
    """
    if holdout is None and len(episodes) >= MANY:
        return episodes.split(test=round(0.2 * len(episodes)))
    if holdout is None:
        train, kept = _ends(episodes, 0.2)
        return train, part_of(kept) if kept else None
    if holdout == 0.0:
        return episodes, None
    if holdout < 0.0 or holdout != holdout or (holdout > 1.0 and holdout != int(holdout)):
        raise DataError(
            f"holdout is {holdout:g}; write a share such as 0.2 (the end of each record), a number of records "
            "such as "
            "1 (the last ones), or 0 to learn from everything"
        )
    if holdout >= 1.0:
        if holdout >= len(episodes):
            raise DataError(
                f"a holdout of {holdout:g} of {len(episodes)} records leaves nothing to learn from; write a share such "
                "as 0.2 instead, which keeps the end of each record aside"
            )
        return episodes.split(test=int(holdout))
    train, kept = _ends(episodes, holdout)
    if not kept:
        raise DataError(
            f"a holdout of {holdout:g}: no record is long enough to keep {SHORTEST} rows aside and as many to learn "
            "from; use a holdout of 0 to learn from everything"
        )
    return train, part_of(kept)


def _ends(episodes: Episodes, share: float) -> tuple[Episodes, list[Episode]]:
    heads, tails = [], []
    for episode in episodes:
        cut = round(len(episode) * (1.0 - share))
        enough = len(episode) - cut >= SHORTEST and cut >= SHORTEST and _measured(episode[cut:])
        heads.append(episode[:cut] if enough else episode)
        tails += [episode[cut:]] if enough else []
    return Episodes(heads), tails


def context_length(lengths: Iterable[int]) -> int:
    """How many first samples of records of these lengths tell a free run where it starts: a fifth of the shortest, at
    most 20. Enough for a filter to settle, not enough to give all away."""
    return max(1, min(20, min(lengths) // 5))


def _measured(episode: Episode) -> bool:
    first = context_length([len(episode)])
    return bool(episode.observed[:first].any() and episode.observed[first:].any())
