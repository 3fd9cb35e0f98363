"""The data of a fit, prepared once and handed to every stage of every method."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import DTypeLike, Float

from gpssm.data import DataError, Episodes, Scaler
from gpssm.models import Batch
from gpssm.models._subspace import subspace_states
from gpssm.predict import Channels

if TYPE_CHECKING:
    from gpssm.fitting._result import Fit


class Room(NamedTuple):
    """How much a fit should have room for, so that fits to parts of some records and to all of them are of one size,
    and share compiled programs."""

    episodes: int
    steps: int


NO_MORE = Room(0, 0)
"""Than the records need."""


@dataclass(frozen=True)
class Prepared:
    """Episodes with their scaler; scaled and padded forms are made when they are first asked for."""

    episodes: Episodes
    scaler: Scaler
    validation: Episodes | None = None
    """Watched and shown, judged by, but never trained on."""
    start: "Fit | None" = None
    """An earlier fit to go on from."""
    room: Room = NO_MORE
    """Methods that work on all steps in one table make it at least so large."""

    @classmethod
    def of(
        cls,
        episodes: Episodes,
        *,
        scaler: Scaler | None = None,
        validation: Episodes | None = None,
        start: "Fit | None" = None,
        room: Room = NO_MORE,
    ) -> "Prepared":
        """With the scaler of these episodes (or of the earlier fit) unless another is given."""
        earlier = None if start is None else getattr(start.system, "scaler", None)
        if scaler is not None and earlier is not None and scaler.to_dict() != earlier.to_dict():
            raise DataError("scaler= is not that of the earlier fit, whose model means other units: leave scaler= out")
        scaler = earlier if scaler is None else scaler
        return cls(episodes, Scaler.from_episodes(episodes) if scaler is None else scaler, validation, start, room)

    @cached_property
    def channels(self) -> Channels:
        """Names and time step."""
        return Channels.of(self.episodes)

    @cached_property
    def scaled(self) -> Episodes:
        """The episodes in scaled units."""
        return self.scaler.apply(self.episodes)

    @property
    def direct(self) -> Scaler | None:
        """The units with a direct term, where there is one: what is fitted to parts of the data must know it."""
        return None if self.scaler.direct is None else self.scaler

    @cached_property
    def _batches(self) -> dict[str, Batch]:
        return {}

    @cached_property
    def _states(self) -> dict[int, list[np.ndarray]]:
        return {}

    def batch(self, dtype: DTypeLike = np.float64) -> Batch:
        """The scaled episodes for traced code."""
        name = np.dtype(dtype).name
        if name not in self._batches:
            self._batches[name] = Batch.of(self.scaled, dtype=dtype)
        return self._batches[name]

    def held_out(self, dtype: DTypeLike = np.float64) -> Batch | None:
        """The scaled validation episodes for traced code, if there are any."""
        return None if self.validation is None else Batch.of(self.scaler.apply(self.validation), dtype=dtype)

    def states(self, state_dim: int) -> list[Float[np.ndarray, "_ D"]]:
        """First states, read off the data by subspace regression."""
        if state_dim not in self._states:
            self._states[state_dim] = subspace_states(self.scaled, state_dim)
        return self._states[state_dim]

    def after(self, fit: "Fit") -> "Prepared":
        """The same data for a method that goes on from a fit to them, with everything that was made of them.

        Where that fit has found a direct term, in its units: without it they would be other outputs.
        """
        direct = fit.system.direct
        if direct is not None and direct is not self.scaler:
            return replace(self, scaler=direct, start=fit)
        return replace(self, start=fit)._sharing(self)

    def scaled_by(self, scaler: Scaler) -> "Prepared":
        """The same data in other units, such as those of a model with a direct term."""
        return replace(self, scaler=scaler)

    def afresh(self) -> "Prepared":
        """The same data for a method that starts anew."""
        return replace(self, start=None)._sharing(self)

    def _sharing(self, other: "Prepared") -> "Prepared":
        for name in ("channels", "scaled", "_batches", "_states"):
            self.__dict__[name] = getattr(other, name)
        return self
