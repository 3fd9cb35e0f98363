"""The channels a model was fitted to, and the checks of what is given to it afterwards."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, final

import numpy as np
from jaxtyping import Float

from gpssm.data import DataError, Episode, Episodes, Recipe
from gpssm.data._recipe import other_units

log = logging.getLogger("gpssm")

DT_TOLERANCE = 1e-3
"""As far as rounded time stamps may carry two records of one rate apart."""


FAR = 3.0
"""How many times the range of training values a record may lie beyond it before that is said."""


@final
@dataclass(frozen=True)
class Channels:
    """Names of outputs and inputs, and the time step; how the training records were read, and what values they had."""

    output_names: tuple[str, ...]
    input_names: tuple[str, ...]
    dt: float | None = None
    # Two models of the same channels may be mixed and compared however their records were read.
    recipe: Recipe | None = field(default=None, compare=False)
    low: tuple[float, ...] = field(default=(), compare=False)
    """The smallest value of each output and then of each input in training; empty where they were not kept."""
    high: tuple[float, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, episodes: Episodes | Episode) -> "Channels":
        """Those of the training episodes."""
        records = [episodes] if isinstance(episodes, Episode) else list(episodes)
        values = np.concatenate([np.concatenate([e.y_with_nan, e.u], axis=1) for e in records])
        # Where nothing was measured at all, nothing is known.
        low, high = np.fmin.reduce(values), np.fmax.reduce(values)
        known = bool(np.isfinite(low).all())
        return cls(
            episodes.output_names,
            episodes.input_names,
            episodes.dt,
            episodes.recipe,
            tuple(low.tolist()) if known else (),
            tuple(high.tolist()) if known else (),
        )

    def check(self, episode: Episode) -> None:
        """Complain about a record with other channels, with channels in another order, in other units, or with another
        time step, and warn of values far from all that were trained on.

        Channels that were never named (y0, u0, ...) are taken in their order.
        """
        for what, prefix, found, wanted in (
            ("output", "y", episode.output_names, self.output_names),
            ("input", "u", episode.input_names, self.input_names),
        ):
            if len(found) != len(wanted):
                raise DataError(
                    f"'{episode.name}' has {len(found)} {what}s ({_listed(found)}), but the model was fitted to "
                    f"{len(wanted)} ({_listed(wanted)})"
                )
            if found == wanted or _unnamed(found, prefix) or _unnamed(wanted, prefix):
                continue
            fix = "give them in that order" if sorted(found) == sorted(wanted) else "rename them, or use that model's"
            raise DataError(
                f"'{episode.name}' has the {what}s {_listed(found)}, but the model was fitted to {_listed(wanted)}: "
                f"{fix}"
            )
        for name, unit, wanted in other_units(episode.recipe, self.recipe):
            raise DataError(
                f"'{episode.name}' has '{name}' in {unit}, but the model was fitted to {wanted}: convert the record"
            )
        self._warn_if_far(episode)
        if self.dt is None or episode.dt is None:
            return
        if not math.isclose(self.dt, episode.dt, rel_tol=DT_TOLERANCE):
            raise DataError(
                f"'{episode.name}' has the time step {episode.dt:g}, but the model was fitted to {self.dt:g}: "
                f"bring it to that step, as with system.read(..., resample={self.dt:g}) (--resample {self.dt:g})"
            )

    def _warn_if_far(self, episode: Episode) -> None:
        """A record in other units has other values, and a model knows nothing of values that it never saw."""
        if not self.low:
            return
        values = np.concatenate([episode.y_with_nan, episode.u], axis=1)
        lows, highs = np.fmin.reduce(values), np.fmax.reduce(values)
        for i, name in enumerate((*self.output_names, *self.input_names)):
            width = self.high[i] - self.low[i]
            if width > 0.0 and (highs[i] > self.high[i] + FAR * width or lows[i] < self.low[i] - FAR * width):
                _warn_once(
                    f"'{episode.name}': '{name}' lies between {lows[i]:.4g} and {highs[i]:.4g}, in training between "
                    f"{self.low[i]:.4g} and {self.high[i]:.4g}: is it in another unit? The model never saw such values"
                )

    def check_samples(self, num_samples: int) -> None:
        """Complain about a prediction without samples."""
        if num_samples < 1:
            raise DataError(f"num_samples={num_samples}: a prediction needs at least one sample")

    def future_inputs(self, inputs: Any, steps: int | None) -> Float[np.ndarray, "S P"]:
        """The inputs of the steps to come, one row each; of no columns where the system has no inputs.

        The columns of a data frame are found by name; those of an array are taken in their order.
        """
        count = len(self.input_names)
        if inputs is None:
            if count or steps is None:
                raise DataError(f"give the future inputs ({_listed(self.input_names)})" if count else "give steps=...")
            if steps < 1:
                raise DataError(f"steps={steps}: need at least one step to predict")
            return np.zeros((steps, 0))
        future = _numbers(self._by_name(inputs), "the future inputs")
        future = future[:, None] if future.ndim == 1 else future
        if future.ndim != 2 or future.shape[1] != count:
            raise DataError(f"future inputs have shape {future.shape}; expected (steps, {count})")
        if not len(future):
            raise DataError("future inputs have no rows: need at least one step to predict")
        if not np.isfinite(future).all():
            row, column = np.argwhere(~np.isfinite(future))[0]
            raise DataError(f"future input '{self.input_names[column]}' is not a finite number at row {row}")
        if steps is not None and steps != len(future):
            raise DataError(f"steps={steps}, but there are {len(future)} rows of future inputs")
        return future

    def _by_name(self, inputs: Any) -> Any:
        columns = getattr(inputs, "columns", None)
        if columns is None:
            return inputs
        names = {str(name): name for name in columns}
        missing = [name for name in self.input_names if name not in names]
        if missing:
            raise DataError(
                f"the frame of future inputs has no column '{missing[0]}': the model was fitted to "
                f"{_listed(self.input_names)}, and the columns are {_listed(list(names))}"
            )
        return np.stack(
            [_numbers(inputs[names[name]], f"the future input '{name}'") for name in self.input_names], axis=1
        )


@lru_cache(maxsize=256)
def _warn_once(message: str) -> None:
    """A report asks for hundreds of predictions of one record."""
    log.warning("%s", message)


def _numbers(values: Any, what: str) -> np.ndarray:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} cannot be read as numbers ({error})") from error


def _unnamed(names: Sequence[str], prefix: str) -> bool:
    return list(names) == [f"{prefix}{i}" for i in range(len(names))]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
