"""`fit_many`: several starts of one model trained together, because training ends in a poor optimum now and then."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import optax
from jaxtyping import DTypeLike, Float, PRNGKeyArray

from gpssm._fit import FitResult, result_of
from gpssm._model import GPSSM
from gpssm._precision import double_precision
from gpssm.data import Episodes, Scaler
from gpssm.fit import AbstractBatches, Progress, Trained, prepare, train_many
from gpssm.fit._problem import Freeze
from gpssm.inference import Variational

LAST = 50
"""The bound of one step is noisy; that of a fit is the average over this many last steps."""


@dataclass(frozen=True)
class FitMany:
    """What `fit_many` returns: all fits, in the order of their starts."""

    fits: tuple[FitResult, ...]

    @property
    def bounds(self) -> Float[np.ndarray, " R"]:
        """The bound per time step with which each ended (average of the last 50 steps); minus infinity if it
        diverged."""
        return np.asarray([_bound(fit) for fit in self.fits])

    @property
    def best(self) -> FitResult:
        """The fit with the highest bound."""
        return self.fits[int(np.argmax(self.bounds))]


@double_precision
def fit_many(
    starts: Sequence[tuple[GPSSM, Variational]],
    episodes: Episodes,
    *,
    scaler: Scaler | None = None,
    optimiser: optax.GradientTransformation | None = None,
    steps: int = 2000,
    batches: AbstractBatches | None = None,
    freeze: Freeze | None = None,
    progress: Progress | None = None,
    dtype: DTypeLike = np.float64,
    at_once: int | None = None,
    keys: Sequence[PRNGKeyArray],
) -> FitMany:
    """Train several starts that differ in numbers only, and keep all; `best` has the highest bound.

    Start `i` ends where `fit(*starts[i], episodes, key=keys[i])` ends, but for rounding. Starts are worked on together
    in one compiled program, which takes the memory of all of them: `at_once` says how many, by default all. Small
    models gain the most, because their steps leave most of a machine idle.
    """
    if not starts or len(starts) != len(keys):
        raise ValueError(f"{len(starts)} starts and {len(keys)} keys: give at least one start, and a key for each")
    if at_once is not None and at_once < 1:
        raise ValueError(f"at_once={at_once}: at least one start is trained at a time")
    scaler = Scaler.from_episodes(episodes) if scaler is None else scaler
    data = scaler.apply(episodes).padded(dtype=dtype)
    group = len(starts) if at_once is None else at_once
    trained: list[Trained] = []
    for first in range(0, len(starts), group):
        trained += train_many(
            [prepare(*start, dtype) for start in starts[first : first + group]],
            data,
            optimiser=optimiser,
            steps=steps,
            batches=batches,
            freeze=freeze,
            progress=progress,
            keys=keys[first : first + group],
        )
    return FitMany(tuple(result_of(each, episodes, scaler) for each in trained))


def _bound(fit: FitResult) -> float:
    bounds = fit.history.bound[-LAST:]
    return float(np.mean(bounds)) if len(bounds) and np.isfinite(bounds).all() else -np.inf
