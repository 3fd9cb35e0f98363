"""Several systems as one: their trajectories side by side."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, final, runtime_checkable

import jax.random as jr
import numpy as np
from jaxtyping import PRNGKeyArray

from gpssm.data import DataError, Episode
from gpssm.data._errors import Numbers
from gpssm.predict._propagate import AbstractPropagation
from gpssm.predict._rollout import Rollout


@runtime_checkable
class Member(Protocol):
    """Anything that predicts: an identified system or a baseline."""

    def simulate(
        self, episode: Episode, *, n_init: int, num_samples: int, key: PRNGKeyArray, **options: Any
    ) -> Rollout:
        """Free run from step `n_init` on."""
        ...

    def forecast(self, episode: Episode, *, num_samples: int, key: PRNGKeyArray, **options: Any) -> Rollout:
        """Beyond the end of a record."""
        ...

    def predict(
        self, episode: Episode, *, horizon: int, num_samples: int, key: PRNGKeyArray, **options: Any
    ) -> Rollout:
        """Some steps ahead from every step."""
        ...


@final
@dataclass(frozen=True)
class Ensemble:
    """A mixture: each member runs its share of the trajectories, and all are reported together.

    Members that were fitted from different seeds or with different numbers of states err in different ways. The mean of
    the mixture errs less than its members do on average, and its bands hold their disagreement as well.
    """

    members: tuple[Member, ...]
    weights: tuple[float, ...] | None = None
    """Shares of the members; equal if not given. `Selection.stacked` finds some by what was held out."""
    width: float = 1.0
    """Factor for the spread of each member's trajectories around their median.

    If the bands of each member are right, those of the mixture are too wide, because they hold the members'
    disagreement as well; `Selection.stacked` finds the factor that what was held out asks for. The median of a member
    with a handful of trajectories is itself uncertain: ask for enough of them.
    """

    def __post_init__(self) -> None:
        if not self.members:
            raise ValueError("an ensemble needs at least one member")
        if not (np.isfinite(self.width) and self.width > 0.0):
            raise ValueError(f"width={self.width}: it must be positive and finite")
        if self.weights is None:
            return
        if len(self.weights) != len(self.members):
            raise ValueError(f"{len(self.weights)} weights for {len(self.members)} members: give one for each")
        if not (np.isfinite(self.weights).all() and min(self.weights) >= 0.0 and sum(self.weights) > 0.0):
            raise ValueError(f"weights={self.weights}: they must be finite, not negative, and not all zero")

    def simulate(
        self,
        episode: Episode,
        *,
        n_init: int,
        num_samples: int = 200,
        propagation: AbstractPropagation | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """Free run over a record: sees all its controls, but of its outputs only the first `n_init`."""

        def run(member: Member, count: int, member_key: PRNGKeyArray) -> Rollout:
            return member.simulate(episode, n_init=n_init, num_samples=count, propagation=propagation, key=member_key)

        return self._together(run, num_samples, key)

    def forecast(
        self,
        episode: Episode,
        *,
        inputs: Numbers | None = None,
        steps: int | None = None,
        num_samples: int = 200,
        propagation: AbstractPropagation | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """Beyond the end of a record, under the inputs of the steps to come."""

        def run(member: Member, count: int, member_key: PRNGKeyArray) -> Rollout:
            return member.forecast(
                episode, inputs=inputs, steps=steps, num_samples=count, propagation=propagation, key=member_key
            )

        return self._together(run, num_samples, key)

    def predict(
        self,
        episode: Episode,
        *,
        horizon: int,
        num_samples: int = 100,
        propagation: AbstractPropagation | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """`horizon` steps ahead from every step. Members that need more past begin later: the common steps are
        reported."""

        def run(member: Member, count: int, member_key: PRNGKeyArray) -> Rollout:
            return member.predict(episode, horizon=horizon, num_samples=count, propagation=propagation, key=member_key)

        return self._together(run, num_samples, key)

    def _together(
        self, run: Callable[[Member, int, PRNGKeyArray], Rollout], num_samples: int, key: PRNGKeyArray
    ) -> Rollout:
        if num_samples < 1:
            raise DataError(f"num_samples={num_samples}: a prediction needs at least one sample")
        counts = self._counts(num_samples)
        keys = jr.split(key, len(self.members))
        parts = zip(self.members, counts, keys, strict=True)
        runs = [
            _spread_by(self.width, _repeated(run(member, count, member_key), count))
            for member, count, member_key in parts
            if count
        ]
        shares = np.asarray([count for count in counts if count]) / sum(counts)
        start = max(one.start for one in runs)
        signals = np.concatenate([one.signals[:, start - one.start :] for one in runs])
        return Rollout(
            start=start,
            signals=signals,
            samples=np.concatenate([one.samples[:, start - one.start :] for one in runs]),
            # Members have coordinates, and perhaps numbers, of states of their own.
            states=np.zeros((*signals.shape[:2], 0)),
            noise_std=np.sqrt(shares @ np.stack([one.noise_std**2 for one in runs])),
            output_names=runs[0].output_names,
            dt=runs[0].dt,
        )

    def _counts(self, num_samples: int) -> list[int]:
        """Trajectories of each member, as many in all as were asked for. With fewer than there are members, those with
        the smallest shares are left out."""
        shares = np.ones(len(self.members)) if self.weights is None else np.asarray(self.weights)
        exact = num_samples * shares / shares.sum()
        counts = np.floor(exact).astype(int)
        for most_missed in np.argsort(counts - exact, kind="stable")[: num_samples - counts.sum()]:
            counts[most_missed] += 1
        return counts.tolist()


def _repeated(run: Rollout, count: int) -> Rollout:
    """A single run without noise stands for all trajectories of its member."""
    if len(run.signals) > 1 or count == 1:
        return run
    parts = ("signals", "samples", "states")
    return replace(run, **{name: np.repeat(getattr(run, name), count, axis=0) for name in parts})


def _spread_by(width: float, run: Rollout) -> Rollout:
    """All trajectories so many times as far from their median."""
    if width == 1.0:
        return run
    middle = run.median
    # Trajectories that left all bounds stay where they are.
    with np.errstate(all="ignore"):
        moved = [middle + width * (part - middle) for part in (run.signals, run.samples)]
    signals, samples = (
        np.where(np.isfinite(new), new, old) for new, old in zip(moved, (run.signals, run.samples), strict=True)
    )
    return replace(run, signals=signals, samples=samples, noise_std=width * run.noise_std)
