"""Two models of one motion as one: the first was shown all outputs, the second only some of them.

A model that was shown velocities knows the state after a few samples and is sharp at first; an unstable system then
multiplies what little it does not know. A model that had to infer velocities starts vaguer, but actions have told it
more: under feedback they answer states that it has not seen.
"""

from dataclasses import dataclass, replace

import jax.random as jr
import numpy as np
from jaxtyping import Float, PRNGKeyArray

import gpssm
from gpssm.predict import Autoregression


@dataclass(frozen=True)
class TwoViews:
    """A mixture in which, at every step, each model has a share in proportion to the precision it claims."""

    whole: gpssm.System | Autoregression
    part: gpssm.System | Autoregression
    columns: tuple[int, ...]
    """Which outputs of the first the second was shown. For the others, the first speaks alone."""

    def simulate(self, episode: gpssm.Episode, *, n_init: int, num_samples: int, key: PRNGKeyArray) -> gpssm.Rollout:
        """A free run. Step by step a sample belongs to one model or the other, and changes sides as the shares do. How
        noisy the sensors are, the model that has seen them all says."""
        keys = jr.split(key)
        whole = self.whole.simulate(episode, n_init=n_init, num_samples=num_samples, key=keys[0])
        part = self.part.simulate(self._seen(episode), n_init=n_init, num_samples=num_samples, key=keys[1])
        columns = list(self.columns)
        scale = self.part.scaler.output_scale
        share = _precision(whole.std[:, columns] / scale) / (
            _precision(whole.std[:, columns] / scale) + _precision(part.std / scale)
        )
        of_part = np.arange(num_samples)[:, None] >= np.round(share * num_samples)
        mixed = {name: getattr(whole, name).copy() for name in ("signals", "samples")}
        for name, values in mixed.items():
            values[:, :, columns] = np.where(of_part[:, :, None], getattr(part, name), values[:, :, columns])
        return replace(whole, **mixed)

    def _seen(self, episode: gpssm.Episode) -> gpssm.Episode:
        columns = list(self.columns)
        return gpssm.Episode(
            y=episode.y[:, columns],
            u=episode.u,
            mask=episode.observed[:, columns],
            dt=episode.dt,
            name=episode.name,
            output_names=tuple(episode.output_names[c] for c in columns),
            input_names=episode.input_names,
        )


def _precision(std: Float[np.ndarray, "T O"]) -> Float[np.ndarray, " T"]:
    return 1.0 / (std**2).sum(axis=1)
