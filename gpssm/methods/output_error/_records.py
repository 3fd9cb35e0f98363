"""All training episodes end to end: one scan serves records of any number and length."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from gpssm.data import Episodes

BUCKET = 64
"""Tables are filled up to a multiple of this many steps, so that data of similar size share compiled code."""


class Records(NamedTuple):
    """Steps of all episodes, one after the other. Steps that fill up have nothing observed."""

    y: Float[Array, "N O"]
    u: Float[Array, "N P"]
    observed: Bool[Array, "N O"]
    first: Bool[Array, " N"]
    """Whether an episode begins here."""
    episode: Int[Array, " N"]

    @classmethod
    def of(cls, scaled: Episodes, *, steps: int = 0) -> "Records":
        """From episodes in the model's units, with room for so many steps at least."""
        lengths = [len(episode) for episode in scaled]
        missing = -(-max(sum(lengths), steps) // BUCKET) * BUCKET - sum(lengths)
        first = np.concatenate([np.arange(length) == 0 for length in lengths])
        index = np.repeat(np.arange(len(lengths)), lengths)
        return cls(
            y=_table([episode.y for episode in scaled], missing),
            u=_table([episode.u for episode in scaled], missing),
            observed=_table([episode.observed for episode in scaled], missing),
            first=jax.device_put(_filled(first, missing)),
            episode=jax.device_put(_filled(index, missing)),
        )


def _table(parts: list[np.ndarray], missing: int) -> Array:
    return jax.device_put(_filled(np.concatenate(parts), missing))


def _filled(values: np.ndarray, missing: int) -> np.ndarray:
    return np.concatenate([values, np.zeros((missing, *values.shape[1:]), values.dtype)])


def filled_starts(starts: Float[np.ndarray, "E D"], count: int) -> Float[np.ndarray, "F D"]:
    """First states, with zeros up to as many as there is to be room for; two at least, because a record with a part cut
    out of it is two."""
    return _filled(starts, max(count, 2, len(starts)) - len(starts))


def correlation_time(residuals: Float[np.ndarray, "N O"], records: Records) -> float:
    """How many consecutive residuals tell as much as one independent one: 1 + 2 sum of autocorrelations, up to the
    first that is hardly positive. Pairs never cross from one episode to the next.

    Not `gpssm.metrics.effective_sample_size`, which adds up to where autocorrelations turn negative and counts those
    between outputs: this number weighs residuals against the prior in every round, so another rule is another fit.
    """
    known, episode = np.asarray(records.observed), np.asarray(records.episode)
    values = np.where(known, residuals, 0.0)
    variance = max(float((values**2).sum()) / max(known.sum(), 1), 1e-300)
    time = 1.0
    for lag in range(1, len(values) // 4):
        both = known[lag:] & known[:-lag] & (episode[lag:] == episode[:-lag])[:, None]
        if not both.any():
            break
        correlation = float((values[lag:] * values[:-lag] * both).sum()) / both.sum() / variance
        if correlation < 0.05:
            break
        time += 2.0 * correlation
    return time
