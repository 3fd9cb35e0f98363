"""A linear state-space model that predicts without compiling anything, so that it answers at once."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
from jaxtyping import Float

from gpssm._core._history import History
from gpssm.data import Episode, Scaler
from gpssm.predict._base import NOT_STORED, AbstractPredictor, Request
from gpssm.predict._channels import Channels
from gpssm.predict._kalman import Filtered, LinearSystem, kalman
from gpssm.predict._propagate import MeanOnly
from gpssm.predict._rollout import Rollout
from gpssm.predict._words import direct_in_words, noise_in_words, width_in_words


@final
@dataclass(frozen=True)
class LinearPredictor(AbstractPredictor):
    """A linear-Gaussian state-space model. A Kalman filter reads the state off the first samples."""

    system: LinearSystem
    """In scaled units."""
    scaler: Scaler
    channels: Channels
    history: History | None = field(default=None, metadata=NOT_STORED)
    free_run_width: float = 1.0

    @property
    def least_context(self) -> int:
        return 1

    def describe(self) -> dict[str, str]:
        poles = np.linalg.eigvals(self.system.A)
        return {
            "linear states": str(self.system.order),
            "poles": ", ".join(f"{abs(p):.4g} at {abs(np.angle(p)):.3g} rad a step" for p in poles if p.imag >= 0.0),
            "measurement noise (std, your units)": noise_in_words(self.channels, self._noise_std),
            **direct_in_words(self.channels, self.direct),
            **width_in_words(self.free_run_width),
        }

    def _free_run(self, context: Episode, controls: Float[np.ndarray, "S P"], request: Request) -> Rollout:
        known = self._filtered(context)
        rng, plain = request.generator(), isinstance(request.propagation, MeanOnly)
        spread = (lambda size: np.zeros(size)) if plain else rng.standard_normal
        system, count = self.system, request.count
        x = known.means[-1] + spread((count, system.order)) @ _root(known.covariances[-1]).T
        driven = self.scaler.apply_inputs(controls) @ system.B.T + system.c
        noise = spread((len(controls), count, system.order)) @ _root(system.Q).T
        states = np.empty((count, len(controls), system.order))
        for t in range(len(controls)):
            x = x @ system.A.T + driven[t] + noise[t]
            states[:, t] = x
        return self._measured(states, len(context), rng)

    def _ahead(self, episode: Episode, horizon: int, request: Request) -> Rollout:
        known, system = self._filtered(episode), self.system
        means, covariances = known.means[:-horizon], known.covariances[:-horizon]
        driven = self.scaler.apply_inputs(episode.u) @ system.B.T + system.c
        for step in range(horizon):
            means = means @ system.A.T + driven[step : step + len(means)]
            covariances = system.A @ covariances @ system.A.T + system.Q
        rng = request.generator()
        states = np.broadcast_to(means, (request.count, *means.shape))
        if not isinstance(request.propagation, MeanOnly):
            states = states + np.einsum("tij,stj->sti", _root(covariances), rng.standard_normal(states.shape))
        return self._measured(states, horizon, rng)

    def _filtered(self, episode: Episode) -> Filtered:
        scaled = self.scaler.apply(episode)
        return kalman(self.system, scaled.y, scaled.u, scaled.observed)

    def _measured(self, states: Float[np.ndarray, "S T D"], first: int, rng: np.random.Generator) -> Rollout:
        signals = self.scaler.undo_samples(states @ self.system.C.T + self.system.b)
        return Rollout(
            start=first,
            signals=signals,
            samples=signals + self._noise_std * rng.standard_normal(signals.shape),
            states=np.ascontiguousarray(states),
            noise_std=self._noise_std,
            output_names=self.output_names,
            dt=self.dt,
        )

    @property
    def _noise_std(self) -> Float[np.ndarray, " O"]:
        return self.scaler.undo_std(np.sqrt(self.system.R))


def _root(covariance: Float[np.ndarray, "*B D D"]) -> Float[np.ndarray, "*B D D"]:
    """A square root also of a covariance without full rank, as that of a state that is known."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
