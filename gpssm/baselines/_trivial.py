"""Predictions that need no learning: a constant, a copy, and the truth itself."""

from dataclasses import dataclass
from itertools import pairwise
from typing import final

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from gpssm._guess import interpolated
from gpssm._precision import double_precision
from gpssm.baselines._channels import Channels, extended
from gpssm.data import DataError, Episode, Episodes
from gpssm.data._errors import Numbers
from gpssm.predict import MeanOnly, Rollout
from gpssm.predict._propagate import AbstractPropagation
from gpssm.systems import AbstractContinuousSystem, Kink, SmoothKink, step, trajectory


@final
@dataclass(frozen=True)
class Constant:
    """Predicts the average of the training outputs, with their spread around it."""

    mean: Float[np.ndarray, " O"]
    std: Float[np.ndarray, " O"]
    channels: Channels

    @classmethod
    def fit(cls, episodes: Episodes) -> "Constant":
        """Mean and standard deviation of each output over all that was observed."""
        y = np.concatenate([episode.y_with_nan for episode in episodes])
        return cls(np.nanmean(y, axis=0), np.maximum(np.nanstd(y, axis=0), 1e-12), Channels.of(episodes))

    def simulate(
        self,
        episode: Episode,
        *,
        n_init: int,
        num_samples: int = 200,
        propagation: AbstractPropagation | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """The same prediction for every step from `n_init` on."""
        self.channels.check_run(episode, n_init=n_init, at_least=1, num_samples=num_samples)
        signal = np.tile(self.mean, (len(episode) - n_init, 1))
        return _around(signal, self.std, n_init, num_samples, self.channels, propagation, key)

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
        """The same prediction beyond the end of a record."""
        longer = extended(episode, self.channels.future_inputs(inputs, steps))
        return self.simulate(longer, n_init=len(episode), num_samples=num_samples, propagation=propagation, key=key)

    def predict(
        self,
        episode: Episode,
        *,
        horizon: int,
        num_samples: int = 100,
        propagation: AbstractPropagation | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """The same prediction at every horizon."""
        return self.simulate(episode, n_init=horizon, num_samples=num_samples, propagation=propagation, key=key)


@final
@dataclass(frozen=True)
class PreviousEpisode:
    """Predicts that the last training episode happens again, step by step; for episodes that repeat a task.

    The spread is the root mean square of the differences between consecutive training episodes (of the outputs around
    their mean, where there is only one). Beyond its end the last value is held.
    """

    outputs: Float[np.ndarray, "T O"]
    std: Float[np.ndarray, " O"]
    channels: Channels

    @classmethod
    def fit(cls, episodes: Episodes) -> "PreviousEpisode":
        """Keep the last episode."""
        filled = [interpolated(episode) for episode in episodes]
        if len(filled) == 1:
            std = filled[0].std(axis=0)
        else:
            pairs = pairwise(filled)
            squares = [(b[: len(a)] - a[: len(b)]) ** 2 for a, b in pairs]
            std = np.sqrt(np.concatenate(squares).mean(axis=0))
        return cls(filled[-1], np.maximum(std, 1e-12), Channels.of(episodes))

    def simulate(
        self,
        episode: Episode,
        *,
        n_init: int,
        num_samples: int = 200,
        propagation: AbstractPropagation | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """What the last training episode showed at the same steps."""
        self.channels.check_run(episode, n_init=n_init, at_least=1, num_samples=num_samples)
        signal = self.outputs[np.minimum(np.arange(n_init, len(episode)), len(self.outputs) - 1)]
        return _around(signal, self.std, n_init, num_samples, self.channels, propagation, key)


@final
@dataclass(frozen=True)
class TrueSimulator:
    """The system that made the data, started from a noisy measurement: how far prediction can go at all.

    `observed` lists the states that are measured, in the order of the outputs.
    """

    system: AbstractContinuousSystem | Kink | SmoothKink
    observed: tuple[int, ...]

    @double_precision
    def simulate(
        self,
        episode: Episode,
        *,
        n_init: int,
        num_samples: int = 200,
        propagation: AbstractPropagation | None = None,
        state: Numbers | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """Free run from the outputs of step `n_init` - 1, or from the `state` given for that step.

        Samples start around those outputs with the measurement's standard deviation (exactly at a given state);
        `MeanOnly()` starts a single run exactly at them. Hidden states cannot be read off one measurement: then give
        the state.
        """
        channels = Channels(episode.output_names, episode.input_names, episode.dt)
        channels.check_run(episode, n_init=n_init, at_least=1, num_samples=num_samples)
        start, start_std = self._start(episode, n_init - 1, state)
        silent = isinstance(propagation, MeanOnly)
        rng = np.random.default_rng(np.asarray(jr.key_data(key)))
        states = np.stack(
            [
                self._run(
                    start if silent else start + start_std * rng.standard_normal(start.shape),
                    episode.u[n_init - 1 : -1],
                    np.zeros(1) if silent else rng.standard_normal((len(episode) - n_init, len(start))),
                )
                for _ in range(1 if silent else num_samples)
            ]
        )
        signals = states[:, :, list(self.observed)]
        noise = np.full(len(self.observed), self.system.observation_variance**0.5)
        return Rollout(
            start=n_init,
            signals=signals,
            samples=signals + noise * rng.standard_normal(signals.shape),
            states=states,
            noise_std=noise,
            output_names=episode.output_names,
            dt=episode.dt,
        )

    def _start(self, episode: Episode, at: int, state: Numbers | None) -> tuple[np.ndarray, float]:
        size = 1 if isinstance(self.system, Kink | SmoothKink) else len(self.system.state_names)
        if state is not None:
            given = np.asarray(state, dtype=float)
            if given.shape != (size,):
                raise DataError(f"the state has shape {given.shape}, but this system has {size} states")
            return given, 0.0
        if sorted(self.observed) != list(range(size)):
            raise DataError(f"only states {self.observed} of {size} are measured: give state=")
        if not episode.observed[at].all():
            raise DataError(f"'{episode.name}' has a missing output at step {at}: start at another, or give state=")
        start = np.zeros(size)
        start[list(self.observed)] = episode.y[at]
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


def _around(
    signal: np.ndarray,
    std: np.ndarray,
    first: int,
    num_samples: int,
    channels: Channels,
    propagation: AbstractPropagation | None,
    key: PRNGKeyArray,
) -> Rollout:
    """A certain signal measured with noise."""
    count = 1 if isinstance(propagation, MeanOnly) else num_samples
    signals = np.tile(signal, (count, 1, 1))
    noise = std * np.asarray(jr.normal(key, signals.shape))
    return Rollout(
        start=first,
        signals=signals,
        samples=signals + noise,
        states=np.zeros((*signals.shape[:2], 0)),
        noise_std=std,
        output_names=channels.output_names,
        dt=channels.dt,
    )
