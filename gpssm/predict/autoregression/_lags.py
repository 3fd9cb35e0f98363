"""Autoregression as a table: the samples of the last steps beside the output that follows."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from gpssm.data import DataError, Episode, Episodes
from gpssm.models._subspace import interpolated


@dataclass(frozen=True)
class Lags:
    """y[t+1] is explained by y[t], ..., y[t - outputs + 1] and u[t], ..., u[t - inputs + 1]."""

    outputs: int
    inputs: int
    increment: bool
    """Whether the change y[t+1] - y[t] is explained instead of y[t+1] itself."""

    def __post_init__(self) -> None:
        if self.outputs < 1 or self.inputs < 0:
            raise ValueError(f"lags of {self.outputs} outputs and {self.inputs} inputs: need at least 1 and 0")

    @property
    def needed(self) -> int:
        """Samples that must be known before the first prediction."""
        return max(self.outputs, self.inputs)

    def table(self, scaled: Episodes) -> tuple[Float[np.ndarray, "N Q"], Float[np.ndarray, "N O"]]:
        """Regressors and targets from all episodes; a row in which any output is missing is left out."""
        rows, targets = [], []
        for episode in scaled:
            y, u, steps = episode.y, episode.u, np.arange(self.needed - 1, len(episode) - 1)
            back_y = steps[:, None] - np.arange(self.outputs)[None, :]
            back_u = steps[:, None] - np.arange(self.inputs)[None, :]
            known = episode.observed[back_y].all(axis=(1, 2)) & episode.observed[steps + 1].all(axis=1)
            row = np.concatenate([y[back_y].reshape(len(steps), -1), u[back_u].reshape(len(steps), -1)], axis=1)
            rows.append(row[known])
            targets.append((y[steps + 1] - y[steps] if self.increment else y[steps + 1])[known])
        table, target = np.concatenate(rows), np.concatenate(targets)
        if len(table) < 2:
            raise DataError(f"no {self.needed + 1} consecutive samples without gaps: use fewer lags")
        return table, target

    def window(self, scaled: Episode) -> tuple[Float[np.ndarray, "K O"], Float[np.ndarray, "M P"]]:
        """What the end of a record tells: last outputs (gaps filled by straight lines), and the inputs that led there
        but not the present one, newest first."""
        filled = interpolated(scaled)
        return filled[::-1][: self.outputs], scaled.u[:-1][::-1][: max(self.inputs - 1, 0)]

    def regressor(
        self, outputs: Float[Array, "K O"], inputs: Float[Array, "M P"], present: Float[Array, " P"]
    ) -> Float[Array, " Q"]:
        """One row of the table."""
        held = jnp.concatenate([present[None], inputs])[: self.inputs]
        return jnp.concatenate([outputs.ravel(), held.ravel()])
