"""The channels a model was fitted to, and the checks of what is given to it afterwards."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float

from gpssm.data import DataError, Episode, Episodes

DT_TOLERANCE = 1e-3
"""As far as rounded time stamps may carry two records of one rate apart."""


@final
@dataclass(frozen=True)
class Channels:
    """Names of outputs and inputs, and the time step."""

    output_names: tuple[str, ...]
    input_names: tuple[str, ...]
    dt: float | None = None

    @classmethod
    def of(cls, episodes: Episodes | Episode) -> "Channels":
        """Those of the training episodes."""
        return cls(episodes.output_names, episodes.input_names, episodes.dt)

    def check(self, episode: Episode) -> None:
        """Complain about a record with other channels, with channels in another order, or with another time step.

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
        if self.dt is None or episode.dt is None:
            return
        if not math.isclose(self.dt, episode.dt, rel_tol=DT_TOLERANCE):
            raise DataError(
                f"'{episode.name}' has the time step {episode.dt:g}, but the model was fitted to {self.dt:g}: "
                "resample the record to the time step of the model"
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


def _numbers(values: Any, what: str) -> np.ndarray:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what} cannot be read as numbers ({error})") from error


def _unnamed(names: Sequence[str], prefix: str) -> bool:
    return list(names) == [f"{prefix}{i}" for i in range(len(names))]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
