"""Several systems as one: their trajectories side by side."""

from collections.abc import Callable
from dataclasses import dataclass
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
    """A mixture in equal parts: each member runs its share of the trajectories, and all are reported together.

    Members that were fitted from different seeds or with different numbers of states err in different ways. The mean of
    the mixture errs less than its members do on average, and its bands hold their disagreement as well.
    """

    members: tuple[Member, ...]

    def __post_init__(self) -> None:
        if not self.members:
            raise ValueError("an ensemble needs at least one member")

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
        share = -(-num_samples // len(self.members))
        keys = jr.split(key, len(self.members))
        runs = [run(member, share, member_key) for member, member_key in zip(self.members, keys, strict=True)]
        start = max(one.start for one in runs)
        signals = np.concatenate([one.signals[:, start - one.start :] for one in runs])
        return Rollout(
            start=start,
            signals=signals,
            samples=np.concatenate([one.samples[:, start - one.start :] for one in runs]),
            # Members have coordinates, and perhaps numbers, of states of their own.
            states=np.zeros((*signals.shape[:2], 0)),
            noise_std=np.sqrt(np.mean([one.noise_std**2 for one in runs], axis=0)),
            output_names=runs[0].output_names,
            dt=runs[0].dt,
        )
