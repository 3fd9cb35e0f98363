"""Autoregressions: a GP, or a linear map, of the last samples."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from jaxtyping import Float

from gpssm._core._history import History
from gpssm.data import Episode, Scaler
from gpssm.predict._base import NOT_STORED, AbstractPredictor, Request
from gpssm.predict._channels import Channels
from gpssm.predict._rollout import Rollout
from gpssm.predict._words import direct_in_words, noise_in_words, width_in_words
from gpssm.predict.autoregression._lags import Lags
from gpssm.predict.autoregression._regression import AbstractRegression


@final
@dataclass(frozen=True)
class Autoregression(AbstractPredictor):
    """y[t+1] = f(last outputs, last inputs) + noise. There is no hidden state: what the last samples do not show, the
    model cannot know, and measurement noise is fed back as if it were the system's.

    By default each sample follows one function drawn from the posterior.
    """

    regression: AbstractRegression
    lags: Lags
    scaler: Scaler
    channels: Channels
    log_evidence: float
    """Of the training targets given their regressors, in standardised units. Only an exact GP has its evidence here: a
    sparse GP has a bound of it, and a linear regression the likelihood at the estimated coefficients (plug-in), which
    is no evidence and must not be compared with one."""
    history: History | None = field(default=None, metadata=NOT_STORED)
    free_run_width: float = 1.0

    @property
    def least_context(self) -> int:
        return self.lags.needed

    def describe(self) -> dict[str, str]:
        noise = self.scaler.undo_std(np.sqrt(np.asarray(self.regression.noise_variance())))
        return {
            "autoregression": type(self.regression).__name__,
            "lags": f"{self.lags.outputs} outputs, {self.lags.inputs} inputs",
            "explains": "changes of the outputs" if self.lags.increment else "the outputs",
            "noise of a step (std, your units)": noise_in_words(self.channels, noise),
            f"{self.regression.measure} of the training data (scaled units)": f"{self.log_evidence:.4g}",
            **direct_in_words(self.channels, self.direct),
            **width_in_words(self.free_run_width),
        }

    def _free_run(self, context: Episode, controls: Float[np.ndarray, "S P"], request: Request) -> Rollout:
        outputs, inputs = self.lags.window(self.scaler.apply(context))
        ahead = self.scaler.apply_inputs(controls)
        return self._run(outputs[None], inputs[None], ahead[None], len(context), request)

    def _ahead(self, episode: Episode, horizon: int, request: Request) -> Rollout:
        scaled, first = self.scaler.apply(episode), self.lags.needed - 1
        origins = range(first, len(episode) - horizon)
        windows = [self.lags.window(scaled.head(origin + 1)) for origin in origins]
        controls = np.stack([scaled.u[origin : origin + horizon] for origin in origins])
        outputs, inputs = (np.stack(parts) for parts in zip(*windows, strict=True))
        return self._run(outputs, inputs, controls, first + horizon, request, last=True)

    def _run(
        self,
        outputs: np.ndarray,
        inputs: np.ndarray,
        controls: np.ndarray,
        first: int,
        request: Request,
        *,
        last: bool = False,
    ) -> Rollout:
        drawn = self.regression.trajectories(self.lags, outputs, inputs, controls, request)
        signals, measured = (self.scaler.undo_samples(_told(part, last)) for part in drawn)
        return Rollout(
            start=first,
            signals=signals,
            samples=measured,
            states=np.zeros((*signals.shape[:2], 0)),
            noise_std=self.scaler.undo_std(np.sqrt(np.asarray(self.regression.noise_variance()))),
            output_names=self.output_names,
            dt=self.dt,
        )


def _told(drawn: np.ndarray, last: bool) -> np.ndarray:
    """Of a single window all steps; of many windows the last step of each."""
    return drawn[:, :, -1] if last else drawn[:, 0]
