"""Predictions that do not depend on the past: a constant, and a copy of an earlier record."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from jaxtyping import Float

from gpssm._core._history import History
from gpssm._core._random import standard_normal
from gpssm.data import Episode, Scaler
from gpssm.predict._base import NOT_STORED, AbstractPredictor, Request
from gpssm.predict._channels import Channels
from gpssm.predict._rollout import Rollout
from gpssm.predict._words import direct_in_words, noise_in_words, width_in_words


@final
@dataclass(frozen=True)
class ConstantPredictor(AbstractPredictor):
    """Predicts the same for every step, with the spread of the training outputs around it."""

    mean: Float[np.ndarray, " O"]
    std: Float[np.ndarray, " O"]
    channels: Channels
    history: History | None = field(default=None, metadata=NOT_STORED)
    scaler: Scaler | None = None
    """Only for its direct term, if there is one."""
    free_run_width: float = 1.0

    @property
    def least_context(self) -> int:
        return 1

    def describe(self) -> dict[str, str]:
        return {
            "constant": noise_in_words(self.channels, self.mean),
            "spread (std, your units)": noise_in_words(self.channels, self.std),
            **direct_in_words(self.channels, self.direct),
            **width_in_words(self.free_run_width),
        }

    def _free_run(self, context: Episode, controls: Float[np.ndarray, "S P"], request: Request) -> Rollout:
        return _around(np.tile(self.mean, (len(controls), 1)), self.std, len(context), self.channels, request)

    def _ahead(self, episode: Episode, horizon: int, request: Request) -> Rollout:
        signal = np.tile(self.mean, (len(episode) - horizon, 1))
        return _around(signal, self.std, horizon, self.channels, request)


@final
@dataclass(frozen=True)
class RepeatPredictor(AbstractPredictor):
    """Predicts that one record happens again, step by step; beyond its end the last value is held."""

    outputs: Float[np.ndarray, "T O"]
    std: Float[np.ndarray, " O"]
    channels: Channels
    history: History | None = field(default=None, metadata=NOT_STORED)
    scaler: Scaler | None = None
    """Only for its direct term, if there is one."""
    free_run_width: float = 1.0

    @property
    def least_context(self) -> int:
        return 1

    def describe(self) -> dict[str, str]:
        return {
            "repeats": f"a record of {len(self.outputs)} steps",
            "spread (std, your units)": noise_in_words(self.channels, self.std),
            **direct_in_words(self.channels, self.direct),
            **width_in_words(self.free_run_width),
        }

    def _free_run(self, context: Episode, controls: Float[np.ndarray, "S P"], request: Request) -> Rollout:
        return self._from(len(context), len(context) + len(controls), request)

    def _ahead(self, episode: Episode, horizon: int, request: Request) -> Rollout:
        return self._from(horizon, len(episode), request)

    def _from(self, first: int, stop: int, request: Request) -> Rollout:
        signal = self.outputs[np.minimum(np.arange(first, stop), len(self.outputs) - 1)]
        return _around(signal, self.std, first, self.channels, request)


def _around(signal: np.ndarray, std: np.ndarray, first: int, channels: Channels, request: Request) -> Rollout:
    """A certain signal measured with noise."""
    signals = np.tile(signal, (request.count, 1, 1))
    noise = std * np.asarray(standard_normal(request.key, signals.shape))
    return Rollout(
        start=first,
        signals=signals,
        samples=signals + noise,
        states=np.zeros((*signals.shape[:2], 0)),
        noise_std=std,
        output_names=channels.output_names,
        dt=channels.dt,
    )
