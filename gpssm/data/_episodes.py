"""Several records of the same system."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final, overload

import numpy as np

from ._episode import Episode
from ._errors import DataError, Numbers
from ._recipe import Recipe, other_units

# Time steps computed from two files' time stamps differ in rounding; a real difference is larger than this.
_DT_TOLERANCE = 1e-6


@final
@dataclass(frozen=True, init=False, repr=False, eq=False)
class Episodes:
    """An immutable sequence of at least one `Episode`, all with the same channels and the same time step."""

    _items: tuple[Episode, ...]

    def __init__(self, episodes: Iterable[Episode]) -> None:
        if isinstance(episodes, Episode):
            raise DataError("Episodes takes a sequence of Episode; write Episodes([episode]) for a single one")
        items = tuple(episodes)
        if not items:
            raise DataError("Episodes needs at least one episode, but the sequence is empty")
        for i, item in enumerate(items):
            if not isinstance(item, Episode):
                raise DataError(
                    f"item {i} of the sequence is a {type(item).__name__}, not an Episode; "
                    "use Episodes.from_arrays for plain arrays"
                )
            _check_agreement(items[0], item, position=i)
        _check_every_output_observed(items)
        object.__setattr__(self, "_items", items)

    @classmethod
    def from_arrays(
        cls,
        *,
        y: Numbers,
        u: Numbers | None = None,
        dt: float | int | None = None,
        mask: Numbers | None = None,
        output_names: Sequence[str] | None = None,
        input_names: Sequence[str] | None = None,
    ) -> "Episodes":
        """Episodes from one array (time, channels), or from a list of such arrays, one per record.

        Where `y` is a list, `u` and `mask` are lists of the same length (or None).
        """
        several = isinstance(y, list | tuple)
        ys = _records(y, what="y") if several else [y]
        us = _matching_records(u, what="u", several=several, count=len(ys))
        masks = _matching_records(mask, what="mask", several=several, count=len(ys))
        return cls(
            Episode(
                y=y_i,
                u=u_i,
                dt=dt,
                mask=mask_i,
                name=f"episode {i}",
                output_names=output_names,
                input_names=input_names,
            )
            for i, (y_i, u_i, mask_i) in enumerate(zip(ys, us, masks, strict=True))
        )

    @property
    def num_steps(self) -> int:
        """How many steps there are in all episodes together."""
        return sum(len(episode) for episode in self._items)

    @property
    def max_length(self) -> int:
        return max(len(episode) for episode in self._items)

    @property
    def num_outputs(self) -> int:
        return self._items[0].num_outputs

    @property
    def num_inputs(self) -> int:
        return self._items[0].num_inputs

    @property
    def dt(self) -> float | None:
        return self._items[0].dt

    @property
    def output_names(self) -> tuple[str, ...]:
        return self._items[0].output_names

    @property
    def input_names(self) -> tuple[str, ...]:
        return self._items[0].input_names

    @property
    def recipe(self) -> Recipe | None:
        """How the records were read, where they were."""
        return self._items[0].recipe

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Episode]:
        return iter(self._items)

    @overload
    def __getitem__(self, which: int) -> Episode: ...
    @overload
    def __getitem__(self, which: slice) -> "Episodes": ...
    def __getitem__(self, which: int | slice) -> "Episode | Episodes":
        if not isinstance(which, slice):
            return self._items[which]
        items = self._items[which]
        if not items:
            raise DataError(f"there are {len(self)} episodes; the slice {which} selects none of them")
        return part_of(items)

    def __repr__(self) -> str:
        return (
            f"Episodes({len(self)} episodes, {self.num_steps} steps, outputs={list(self.output_names)}, "
            f"inputs={list(self.input_names)}, dt={self.dt})"
        )

    def split(self, *, test: int) -> "tuple[Episodes, Episodes]":
        """Training and test episodes: the last `test` ones are held out."""
        if not 1 <= test < len(self):
            raise DataError(
                f"cannot hold out {test} of {len(self)} episodes; hold out at least one and keep at least one, "
                "or cut a single record by time: episode[:n] and episode[n:]"
            )
        return Episodes(self._items[:-test]), part_of(self._items[-test:])

    def windows(self, length: int, stride: int | None = None) -> "Episodes":
        """Every record cut into windows of `length` steps that start every `stride` steps (by default `length`).

        What remains at the end of a record becomes a shorter window if it has at least two steps.
        """
        stride = length if stride is None else stride
        if length < 2:
            raise DataError(f"windows of length {length} hold no transition; use a length of at least 2")
        if stride < 1:
            raise DataError(f"windows cannot advance by {stride} steps; use a stride of at least 1")
        if length > self.max_length:
            raise DataError(f"windows of length {length} do not fit: the longest record has {self.max_length} steps")
        return part_of(
            tuple(
                episode[start:stop]
                for episode in self._items
                for start, stop in _window_bounds(len(episode), length=length, stride=stride)
            )
        )


def part_of(items: Iterable[Episode]) -> Episodes:
    """Episodes made from those of an already checked `Episodes`.

    Unlike the constructor it accepts an output that is missing throughout: such a record can still be tested on.
    """
    part = object.__new__(Episodes)
    object.__setattr__(part, "_items", tuple(items))
    return part


def _window_bounds(steps: int, *, length: int, stride: int) -> Iterator[tuple[int, int]]:
    for start in range(0, steps - 1, stride):  # a window needs two steps, so none starts at the last one
        yield start, min(start + length, steps)
        if start + length >= steps:
            return


def _records(value: Sequence[Any], *, what: str) -> list[Numbers]:
    for i, item in enumerate(value):
        # A list of lists could be one record or several, so it is not guessed.
        if isinstance(item, list | tuple | int | float):
            raise DataError(
                f"{what}[{i}] is a {type(item).__name__}: a list {what} means one array per record; pass "
                f"np.asarray({what}) if it is a single record, or a list of numpy arrays if there are several"
            )
    return list(value)


def _matching_records(value: Numbers | None, *, what: str, several: bool, count: int) -> Sequence[Numbers | None]:
    if value is None:
        return [None] * count
    if not several:
        return [value]
    if not isinstance(value, list | tuple):
        raise DataError(f"y is a list of {count} records, so {what} must be a list of {count} arrays, too")
    if len(value) != count:
        raise DataError(f"y is a list of {count} records but {what} is a list of {len(value)}; give one each")
    return _records(value, what=what)


def _check_agreement(first: Episode, other: Episode, *, position: int) -> None:
    pair = f"episodes 0 and {position} ('{first.name}' and '{other.name}') disagree"
    for what, a, b in (
        ("number of outputs", first.num_outputs, other.num_outputs),
        ("number of inputs", first.num_inputs, other.num_inputs),
        ("output names", list(first.output_names), list(other.output_names)),
        ("input names", list(first.input_names), list(other.input_names)),
    ):
        if a != b:
            raise DataError(f"{pair} in the {what}: {a} and {b}; give all episodes the same channels in the same order")
    for name, here, there in other_units(first.recipe, other.recipe):
        raise DataError(f"{pair} in the unit of '{name}': {here} and {there}; convert one of them")
    if first.dt is None or other.dt is None:
        same_dt = first.dt is other.dt
    else:
        same_dt = math.isclose(first.dt, other.dt, rel_tol=_DT_TOLERANCE)
    if not same_dt:
        raise DataError(f"{pair} in dt: {first.dt} and {other.dt}; resample them to the same time step")


def _check_every_output_observed(items: tuple[Episode, ...]) -> None:
    seen = np.any([episode.observed.any(axis=0) for episode in items], axis=0)
    if not seen.all():
        column = int(np.argmin(seen))
        raise DataError(
            f"output '{items[0].output_names[column]}' (column {column}) is missing at every step of all "
            f"{len(items)} episodes; leave this channel out, or add an episode that measures it"
        )
