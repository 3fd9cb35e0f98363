"""Autoregressions behind the interface of an identified system: a GP, or a linear map, of the last samples."""

from dataclasses import dataclass
from typing import final

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from gpssm._precision import Portable, double_precision
from gpssm.baselines._channels import Channels, extended
from gpssm.baselines._free_run import trajectories
from gpssm.baselines._lags import Lags
from gpssm.baselines._regression import AbstractRegression
from gpssm.data import DataError, Episode, Scaler
from gpssm.data._errors import Numbers
from gpssm.predict import MeanOnly, Pathwise, Rollout
from gpssm.predict._propagate import AbstractPropagation


@final
@dataclass(frozen=True)
class Autoregression(Portable):
    """y[t+1] = f(last outputs, last inputs) + noise. There is no hidden state: what the last samples do not show, the
    model cannot know, and measurement noise is fed back as if it were the system's.

    Everything given and returned is in the user's units.
    """

    regression: AbstractRegression
    lags: Lags
    scaler: Scaler
    channels: Channels
    log_evidence: float
    """Of the training targets given their regressors, in standardised units (its bound, for a sparse GP)."""

    @double_precision
    def simulate(
        self,
        episode: Episode,
        *,
        n_init: int,
        num_samples: int = 200,
        propagation: AbstractPropagation | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """Free run over a record: sees all its controls, but of its outputs only the first `n_init`, whose last ones
        fill the lags. The result begins at step `n_init`.

        By default each sample follows one function drawn from the posterior.
        """
        self.channels.check_run(episode, n_init=n_init, at_least=self.lags.needed, num_samples=num_samples)
        outputs, inputs = self.lags.window(self.scaler.apply(episode.head(n_init)))
        controls = self.scaler.apply_inputs(episode.u[n_init - 1 : -1])
        return self._run(outputs[None], inputs[None], controls[None], n_init, num_samples, propagation, key)

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
        """Beyond the end of a record, under the inputs of the steps to come (or for `steps` steps if there are no
        inputs)."""
        longer = extended(episode, self.channels.future_inputs(inputs, steps))
        return self.simulate(longer, n_init=len(episode), num_samples=num_samples, propagation=propagation, key=key)

    @double_precision
    def predict(
        self,
        episode: Episode,
        *,
        horizon: int,
        num_samples: int = 100,
        propagation: AbstractPropagation | None = None,
        key: PRNGKeyArray,
    ) -> Rollout:
        """`horizon` steps ahead from every step that has enough past; the result begins `horizon` after the first of
        them."""
        first = self.lags.needed - 1
        if not 1 <= horizon < len(episode) - first:
            raise DataError(
                f"horizon={horizon}: need at least 1 and fewer than the {len(episode) - first} samples of "
                f"'{episode.name}' that have enough past"
            )
        self.channels.check_run(episode, n_init=self.lags.needed, at_least=self.lags.needed, num_samples=num_samples)
        scaled = self.scaler.apply(episode)
        origins = range(first, len(episode) - horizon)
        windows = [self.lags.window(scaled.head(origin + 1)) for origin in origins]
        controls = np.stack([scaled.u[origin : origin + horizon] for origin in origins])
        outputs, inputs = (np.stack(parts) for parts in zip(*windows, strict=True))
        return self._run(outputs, inputs, controls, first + horizon, num_samples, propagation, key)

    def _run(
        self,
        outputs: np.ndarray,
        inputs: np.ndarray,
        controls: np.ndarray,
        first: int,
        num_samples: int,
        propagation: AbstractPropagation | None,
        key: PRNGKeyArray,
    ) -> Rollout:
        propagation = Pathwise() if propagation is None else propagation
        count = 1 if isinstance(propagation, MeanOnly) else num_samples
        windows = jnp.asarray(outputs), jnp.asarray(inputs)
        drawn = trajectories(self.regression, self.lags, windows, jnp.asarray(controls), propagation, count, key)
        signals, measured = (self.scaler.undo_samples(_told(part)) for part in drawn)
        return Rollout(
            start=first,
            signals=signals,
            samples=measured,
            states=np.zeros((*signals.shape[:2], 0)),
            noise_std=self.scaler.undo_std(np.sqrt(np.asarray(self.regression.noise_variance()))),
            output_names=self.channels.output_names,
            dt=self.channels.dt,
        )


def _told(drawn: Array) -> np.ndarray:
    """Of a single window all steps; of many windows the last step of each."""
    values = np.asarray(drawn)
    return values[:, 0] if values.shape[1] == 1 else values[:, :, -1]
