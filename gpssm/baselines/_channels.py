"""The channels a baseline was fitted to, and the checks of what is given to it afterwards."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gpssm.data import DataError, Episode, Episodes
from gpssm.data._errors import Numbers


@dataclass(frozen=True)
class Channels:
    """Names of outputs and inputs, and the time step."""

    output_names: tuple[str, ...]
    input_names: tuple[str, ...]
    dt: float | None

    @classmethod
    def of(cls, episodes: Episodes) -> "Channels":
        """Those of the training episodes."""
        return cls(episodes.output_names, episodes.input_names, episodes.dt)

    def check(self, episode: Episode) -> None:
        """Complain about a record with other channels."""
        found, wanted = (episode.num_outputs, episode.num_inputs), (len(self.output_names), len(self.input_names))
        if found != wanted:
            raise DataError(
                f"'{episode.name}' has {found[0]} outputs and {found[1]} inputs, but the model was fitted to "
                f"{wanted[0]} ({', '.join(self.output_names)}) and {wanted[1]} ({', '.join(self.input_names)})"
            )

    def check_run(self, episode: Episode, *, n_init: int, at_least: int, num_samples: int) -> None:
        """Complain about a free run that cannot be started or has nothing left to predict."""
        self.check(episode)
        if not at_least <= n_init < len(episode):
            raise DataError(
                f"n_init={n_init}: need at least {at_least} and fewer than the {len(episode)} samples of "
                f"'{episode.name}'"
            )
        if num_samples < 1:
            raise DataError(f"num_samples={num_samples}: a prediction needs at least one sample")

    def future_inputs(self, inputs: Numbers | None, steps: int | None) -> Float[np.ndarray, "S P"]:
        """The inputs of the steps to come, one row each; of no columns where the system has no inputs."""
        count = len(self.input_names)
        if inputs is None:
            if count or steps is None or steps < 1:
                wanted = f"the future inputs ({', '.join(self.input_names)})" if count else "steps=..., at least one"
                raise DataError(f"give {wanted}")
            return np.zeros((steps, 0))
        future = np.asarray(inputs, dtype=float)
        future = future[:, None] if future.ndim == 1 else future
        if future.ndim != 2 or future.shape[1] != count or not len(future):
            raise DataError(f"future inputs have shape {future.shape}; expected (steps, {count})")
        if not np.isfinite(future).all():
            raise DataError("future inputs must be finite numbers")
        if steps is not None and steps != len(future):
            raise DataError(f"steps={steps}, but there are {len(future)} rows of future inputs")
        return future


def extended(episode: Episode, future: Float[np.ndarray, "S P"]) -> Episode:
    """The record with the steps to come added: their inputs known, their outputs missing."""
    unknown = np.full((len(future), episode.num_outputs), np.nan)
    return Episode(
        y=np.concatenate([episode.y_with_nan, unknown]),
        u=np.concatenate([episode.u, future]) if episode.num_inputs else None,
        dt=episode.dt,
        name=episode.name,
        output_names=episode.output_names,
        input_names=episode.input_names,
    )
