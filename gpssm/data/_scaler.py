"""Channels brought to mean zero and standard deviation one, and predictions brought back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final, overload

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
    """The z-score of every channel: scaled = (value - mean) / scale. Learn it on the training episodes alone.

    With a direct term, what inputs add to outputs within the same step is taken off the outputs as well, so that models
    need not know of it: a model of the rest is a model of the whole.
    """

    output_mean: Float64[np.ndarray, " O"]
    output_scale: Float64[np.ndarray, " O"]
    input_mean: Float64[np.ndarray, " P"]
    input_scale: Float64[np.ndarray, " P"]
    direct: Float64[np.ndarray, "O P"] | None = None
    """D of y[t] = W x[t] + D u[t] + b, in scaled units; None where outputs depend on inputs through the state only."""

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
        if self.direct is not None:
            direct = real_array(self.direct, what="direct", where="Scaler")
            if direct.shape != (len(self.output_mean), len(self.input_mean)) or not np.isfinite(direct).all():
                raise DataError(
                    f"the direct term of a Scaler must be finite numbers, a row for each of {len(self.output_mean)} "
                    f"outputs and a column for each of {len(self.input_mean)} inputs, not {direct}"
                )
            direct.setflags(write=False)
            object.__setattr__(self, "direct", direct)

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

    def with_direct(self, direct: Numbers, train: Episodes) -> "Scaler":
        """With another direct term, given in the units of this scaler; outputs are scaled anew by what it leaves of
        them.

        Where it leaves next to nothing the scale stays a thousandth of what it was: rounding is no signal.
        """
        shift = replace(self, direct=real_array(direct, what="direct", where="Scaler"))
        left = Scaler.from_episodes(part_of(shift.less_direct(episode) for episode in train))
        scale = np.maximum(left.output_scale, 1e-3 * self.output_scale)
        assert shift.direct is not None
        in_units = shift.direct * self.output_scale[:, None]
        return replace(self, output_mean=left.output_mean, output_scale=scale, direct=in_units / scale[:, None])

    def direct_outputs(self, u: Numbers) -> Float64[np.ndarray, "*S O"]:
        """What inputs add to the outputs of the same step, in the units of the data."""
        scaled = self.apply_inputs(u)
        if self.direct is None:
            return np.zeros((*scaled.shape[:-1], len(self.output_mean)))
        return scaled @ self.direct.T * self.output_scale

    def less_direct(self, episode: Episode) -> Episode:
        """The episode in the units of the data, without what its inputs add to its outputs at once."""
        if self.direct is None:
            return episode
        return episode._replace(y=np.where(episode.observed, episode.y - self.direct_outputs(episode.u), 0.0))

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
        scaled = (self.less_direct(episode).y - self.output_mean) / self.output_scale
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
        """Means of the outputs in the units of the data, without what a direct term adds (`direct_outputs`)."""
        return _channels_last(y, len(self.output_mean), what="outputs") * self.output_scale + self.output_mean

    def undo_samples(self, samples: Numbers) -> Float64[np.ndarray, "*S O"]:
        """Samples of the outputs in the units of the data; a sample transforms as a mean does."""
        return self.undo_mean(samples)

    def undo_std(self, std: Numbers) -> Float64[np.ndarray, "*S O"]:
        """Standard deviations of the outputs in the units of the data."""
        return _channels_last(std, len(self.output_mean), what="outputs") * self.output_scale

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, fit for JSON, from which `from_dict` gives back exactly this scaler."""
        found = {name: getattr(self, name).tolist() for name in _FIELDS}
        return found if self.direct is None else found | {"direct": self.direct.tolist()}

    @classmethod
    def from_dict(cls, state: Mapping[str, Sequence[Any]]) -> "Scaler":
        """The scaler that `to_dict` described."""
        if set(state) - {"direct"} != set(_FIELDS):
            raise DataError(f"a Scaler is stored under the keys {list(_FIELDS)}, but the keys are {list(state)}")
        return cls(**{name: real_array(values, what=name, where="stored Scaler") for name, values in state.items()})


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
