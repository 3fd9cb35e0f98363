"""Channels brought to mean zero and standard deviation one, and predictions brought back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final, overload

import numpy as np
from jaxtyping import Float64

from ._episode import Episode
from ._episodes import Episodes, part_of
from ._errors import DataError, Numbers, check_entries, real_array

# A spread below this cannot be told from none: its square would leave the range of float64.
_SMALLEST_SPREAD = 1e-100


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Scaler:
    """The z-score of every channel: scaled = (value - mean) / scale. Learn it on the training episodes alone."""

    output_mean: Float64[np.ndarray, " O"]
    output_scale: Float64[np.ndarray, " O"]
    input_mean: Float64[np.ndarray, " P"]
    input_scale: Float64[np.ndarray, " P"]

    def __post_init__(self) -> None:
        for name in _FIELDS:
            values = real_array(getattr(self, name), what=name, where="Scaler")
            if values.ndim != 1 or not np.isfinite(values).all():
                raise DataError(f"{name} of a Scaler must be a list of finite numbers, one per channel, not {values}")
            if name.endswith("scale") and not (values > 0.0).all():
                raise DataError(f"{name} of a Scaler must be positive, not {values}")
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        for means, scales in ((self.output_mean, self.output_scale), (self.input_mean, self.input_scale)):
            if len(means) != len(scales):
                raise DataError(f"a Scaler has {len(means)} means but {len(scales)} scales; give one each per channel")

    @classmethod
    def from_episodes(cls, train: Episodes) -> "Scaler":
        """Mean and standard deviation over all steps; missing measurements do not count.

        A channel that never changes keeps scale 1, so that it becomes zero and not NaN.
        """
        outputs = [
            _mean_and_scale(_observed_values(train, column), what=f"output '{name}'")
            for column, name in enumerate(train.output_names)
        ]
        inputs = [
            _mean_and_scale(np.concatenate([episode.u[:, column] for episode in train]), what=f"input '{name}'")
            for column, name in enumerate(train.input_names)
        ]
        return cls(
            output_mean=np.array([mean for mean, _ in outputs]),
            output_scale=np.array([scale for _, scale in outputs]),
            input_mean=np.array([mean for mean, _ in inputs]),
            input_scale=np.array([scale for _, scale in inputs]),
        )

    @overload
    def apply(self, data: Episode) -> Episode: ...
    @overload
    def apply(self, data: Episodes) -> Episodes: ...
    def apply(self, data: Episode | Episodes) -> Episode | Episodes:
        """The same episode or episodes in scaled units; missing entries of y stay 0.0."""
        if isinstance(data, Episodes):
            return part_of(self._apply_to_one(episode) for episode in data)
        return self._apply_to_one(data)

    def _apply_to_one(self, episode: Episode) -> Episode:
        _check_count(episode.num_outputs, len(self.output_mean), what="outputs", where=episode.name)
        _check_count(episode.num_inputs, len(self.input_mean), what="inputs", where=episode.name)
        scaled = (episode.y - self.output_mean) / self.output_scale
        return episode._replace(
            y=np.where(episode.observed, scaled, 0.0), u=(episode.u - self.input_mean) / self.input_scale
        )

    def apply_inputs(self, u: Numbers) -> Float64[np.ndarray, "*S P"]:
        """Inputs in scaled units; the last axis holds the channels."""
        values = _channels_last(u, len(self.input_mean), what="inputs")
        check_entries(
            values,
            used=np.ones(values.shape, dtype=bool),
            what="input",
            names=[f"u{i}" for i in range(len(self.input_mean))],
            where="inputs to be scaled",
            if_nan="inputs must be known at every step: interpolate or drop these rows",
        )
        return (values - self.input_mean) / self.input_scale

    def undo_mean(self, y: Numbers) -> Float64[np.ndarray, "*S O"]:
        """Means of the outputs in the units of the data."""
        return _channels_last(y, len(self.output_mean), what="outputs") * self.output_scale + self.output_mean

    def undo_samples(self, samples: Numbers) -> Float64[np.ndarray, "*S O"]:
        """Samples of the outputs in the units of the data; a sample transforms as a mean does."""
        return self.undo_mean(samples)

    def undo_std(self, std: Numbers) -> Float64[np.ndarray, "*S O"]:
        """Standard deviations of the outputs in the units of the data."""
        return _channels_last(std, len(self.output_mean), what="outputs") * self.output_scale

    def to_dict(self) -> dict[str, list[float]]:
        """Plain lists, fit for JSON, from which `from_dict` gives back exactly this scaler."""
        return {name: getattr(self, name).tolist() for name in _FIELDS}

    @classmethod
    def from_dict(cls, state: Mapping[str, Sequence[float]]) -> "Scaler":
        """The scaler that `to_dict` described."""
        if set(state) != set(_FIELDS):
            raise DataError(f"a Scaler is stored under the keys {list(_FIELDS)}, but the keys are {list(state)}")
        return cls(**{name: real_array(state[name], what=name, where="stored Scaler") for name in _FIELDS})


_FIELDS = ("output_mean", "output_scale", "input_mean", "input_scale")


def _observed_values(episodes: Episodes, column: int) -> Float64[np.ndarray, " N"]:
    return np.concatenate([episode.y[episode.observed[:, column], column] for episode in episodes])


def _mean_and_scale(values: Float64[np.ndarray, " N"], *, what: str) -> tuple[float, float]:
    if len(values) == 0:
        raise DataError(f"{what} is missing at every step, so it has no scale; leave this channel out")
    low, high = float(np.min(values)), float(np.max(values))
    # A channel that moves by a few units in the last place is constant but for rounding.
    rounding = 8.0 * np.finfo(np.float64).eps * max(abs(low), abs(high))
    if high - low <= max(rounding, _SMALLEST_SPREAD):
        return low, 1.0
    # Relative to the range, so that neither a large offset nor the square of a tiny number costs digits.
    relative = (values - low) / (high - low)
    return low + (high - low) * float(np.mean(relative)), (high - low) * float(np.std(relative))


def _channels_last(value: Numbers, count: int, *, what: str) -> Float64[np.ndarray, "*S C"]:
    array = real_array(value, what=what, where="Scaler")
    if array.ndim == 0 or array.shape[-1] != count:
        raise DataError(f"the last axis must hold the {count} {what}, but the shape is {array.shape}")
    return array


def _check_count(found: int, expected: int, *, what: str, where: str) -> None:
    if found != expected:
        raise DataError(f"{where}: {found} {what}, but the scaler was learnt with {expected}; use the same channels")
