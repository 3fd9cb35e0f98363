"""Several models as one: their trajectories side by side."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from jaxtyping import Float

from gpssm._core._history import History
from gpssm._core._random import split
from gpssm.data import Episode
from gpssm.predict._base import NOT_STORED, AbstractPredictor, Request
from gpssm.predict._channels import Channels
from gpssm.predict._rollout import Rollout


@final
@dataclass(frozen=True)
class MixturePredictor(AbstractPredictor):
    """Each member runs its share of the trajectories, and all are reported together.

    Members that were fitted from different seeds or with different numbers of states err in different ways. The mean of
    the mixture errs less than its members do on average, and its bands hold their disagreement as well.
    """

    members: tuple[AbstractPredictor, ...]
    weights: tuple[float, ...] | None = None
    """Shares of the members; equal if not given. `Selection.stacked` finds some by what was held out."""
    width: float = 1.0
    """Factor for the spread of each member's trajectories around their median.

    If the bands of each member are right, those of the mixture are too wide, because they hold the members'
    disagreement as well; `Selection.stacked` finds the factor that what was held out asks for. The median of a member
    with a handful of trajectories is itself uncertain: ask for enough of them.
    """
    history: History | None = field(default=None, metadata=NOT_STORED)

    def __post_init__(self) -> None:
        if not self.members:
            raise ValueError("a mixture needs at least one member")
        if not (np.isfinite(self.width) and self.width > 0.0):
            raise ValueError(f"width={self.width}: it must be positive and finite")
        if self.weights is None:
            return
        if len(self.weights) != len(self.members):
            raise ValueError(f"{len(self.weights)} weights for {len(self.members)} members: give one for each")
        if not (np.isfinite(self.weights).all() and min(self.weights) >= 0.0 and sum(self.weights) > 0.0):
            raise ValueError(f"weights={self.weights}: they must be finite, not negative, and not all zero")

    @property
    def channels(self) -> Channels:
        """Those of the first member; all members were fitted to the same records."""
        return self.members[0].channels

    @property
    def least_context(self) -> int:
        return max(member.least_context for member in self.members)

    def describe(self) -> dict[str, str]:
        shares = np.ones(len(self.members)) if self.weights is None else np.asarray(self.weights)
        rows = {"mixture of": f"{len(self.members)} models", "width of bands": f"{self.width:.3g}"}
        for i, (member, share) in enumerate(zip(self.members, shares / shares.sum(), strict=True)):
            words = member.describe()
            short = "; ".join(f"{name} {value}" for name, value in list(words.items())[:3])
            rows[f"member {i + 1} ({100 * share:.0f} %)"] = f"{type(member).__name__}: {short}"
        return rows

    def _free_run(self, context: Episode, controls: Float[np.ndarray, "S P"], request: Request) -> Rollout:
        return self._together(lambda member, asked: member.free_run(context, controls, asked), len(context), request)

    def _ahead(self, episode: Episode, horizon: int, request: Request) -> Rollout:
        # Members that need more past begin later: the steps that all of them can predict are reported.
        start = self.least_context - 1 + horizon
        return self._together(lambda member, asked: member.ahead(episode, horizon, asked), start, request)

    def _together(self, run: Callable[[AbstractPredictor, Request], Rollout], start: int, request: Request) -> Rollout:
        counts = self._counts(request.num_samples)
        keys = split(request.key, len(self.members))
        runs = [
            _repeated(run(member, replace(request, num_samples=count, key=key)), count).spread_by(self.width)
            for member, count, key in zip(self.members, counts, keys, strict=True)
            if count
        ]
        shares = np.asarray([count for count in counts if count]) / sum(counts)
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
