"""The system that made the data, as a predictor: how far prediction can go at all."""

from dataclasses import dataclass, field, replace
from typing import final

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Float

from gpssm._core._history import History
from gpssm.data import DataError, Episode, Episodes
from gpssm.data._errors import Numbers
from gpssm.predict import AbstractPredictor, Channels, MeanOnly, Rollout
from gpssm.predict._base import NOT_STORED, Request
from gpssm.systems import AbstractContinuousSystem, Kink, SmoothKink, step, trajectory


@final
@dataclass(frozen=True)
class TrueSimulator(AbstractPredictor):
    """The system that made the data, started from a noisy measurement, or from a state that is given.

    Samples start around the last outputs with the measurement's standard deviation (exactly at a given state);
    `MeanOnly()` starts a single run exactly at them. Hidden states cannot be read off one measurement: then give the
    state with `from_state`.
    """

    system: AbstractContinuousSystem | Kink | SmoothKink
    observed: tuple[int, ...]
    """The states that are measured, in the order of the outputs."""
    channels: Channels
    state: tuple[float, ...] | None = None
    history: History | None = field(default=None, metadata=NOT_STORED)

    @classmethod
    def of(
        cls,
        system: AbstractContinuousSystem | Kink | SmoothKink,
        observed: tuple[int, ...],
        episodes: Episodes | Episode,
    ) -> "TrueSimulator":
        """For records with these channels."""
        return cls(system, observed, Channels.of(episodes))

    def from_state(self, state: Numbers) -> "TrueSimulator":
        """The simulator that starts at this state, whatever the last outputs were."""
        return replace(self, state=tuple(float(value) for value in np.ravel(np.asarray(state, dtype=float))))

    @property
    def least_context(self) -> int:
        return 1

    def describe(self) -> dict[str, str]:
        return {"true system": type(self.system).__name__, "measured states": ", ".join(map(str, self.observed))}

    def _free_run(self, context: Episode, controls: Float[np.ndarray, "S P"], request: Request) -> Rollout:
        start, start_std = self._start_of(context)
        silent = isinstance(request.propagation, MeanOnly)
        rng = request.generator()
        states = np.stack(
            [
                self._run(
                    start if silent else start + start_std * rng.standard_normal(start.shape),
                    controls,
                    np.zeros(1) if silent else rng.standard_normal((len(controls), len(start))),
                )
                for _ in range(request.count)
            ]
        )
        signals = states[:, :, list(self.observed)]
        noise = np.full(len(self.observed), self.system.observation_variance**0.5)
        return Rollout(
            start=len(context),
            signals=signals,
            samples=signals + noise * rng.standard_normal(signals.shape),
            states=states,
            noise_std=noise,
            output_names=self.output_names,
            dt=self.dt,
        )

    def _ahead(self, episode: Episode, horizon: int, request: Request) -> Rollout:
        """From each measured step anew."""
        runs = []
        for i, origin in enumerate(range(len(episode) - horizon)):
            asked = replace(request, key=jr.fold_in(request.key, i))
            runs.append(self._free_run(episode.head(origin + 1), episode.u[origin : origin + horizon], asked))
        parts = {
            name: np.concatenate([getattr(run, name)[:, -1:] for run in runs], axis=1)
            for name in ("signals", "samples", "states")
        }
        return replace(runs[0], start=horizon, **parts)

    def _start_of(self, context: Episode) -> tuple[np.ndarray, float]:
        size = 1 if isinstance(self.system, Kink | SmoothKink) else len(self.system.state_names)
        if self.state is not None:
            given = np.asarray(self.state, dtype=float)
            if given.shape != (size,):
                raise DataError(f"the state has shape {given.shape}, but this system has {size} states")
            return given, 0.0
        if sorted(self.observed) != list(range(size)):
            raise DataError(f"only states {self.observed} of {size} are measured: use from_state(...)")
        if not context.observed[-1].all():
            raise DataError(
                f"the last output of '{context.name}' is missing: start at another step, or use from_state(...)"
            )
        start = np.zeros(size)
        start[list(self.observed)] = context.y[-1]
        return start, self.system.observation_variance**0.5

    def _run(self, start: np.ndarray, actions: np.ndarray, noises: np.ndarray) -> np.ndarray:
        """States after each action."""
        deviation = self.system.process_variance**0.5
        disturbances = np.broadcast_to(deviation * noises, (len(actions), len(start)))
        if isinstance(self.system, AbstractContinuousSystem) and deviation == 0.0:
            return trajectory(self.system, start, np.concatenate([actions, actions[-1:]]))[1:]
        states = []
        for action, disturbance in zip(actions, disturbances, strict=True):
            if isinstance(self.system, Kink | SmoothKink):
                start = np.asarray(self.system.function(jnp.asarray(start))) + disturbance
            else:
                start = step(self.system, start, action) + disturbance
            states.append(start)
        return np.stack(states)
