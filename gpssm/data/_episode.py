"""One recorded run of a system."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float64

from ._errors import DataError, Numbers, check_entries, numeric_columns
from ._named import check_not_transposed, named_columns
from ._recipe import Recipe


@final
@dataclass(frozen=True, init=False, repr=False, eq=False)
class Episode:
    """One record: `y[t]` is measured at step t, and `u[t]` is held from step t to step t + 1.

    Immutable. A NaN in the `y` that is passed marks this one entry as missing, and so does a False in `mask`; from
    then on `observed` tells what was measured, and missing entries of `y` hold 0.0, so that no NaN can travel on.
    """

    y: Float64[np.ndarray, "T O"]  # measurements; 0.0 where missing
    observed: Bool[np.ndarray, "T O"]  # which entries of y were measured
    u: Float64[np.ndarray, "T P"]  # inputs; P may be 0
    dt: float | None  # time between two steps, where it is known
    name: str
    output_names: tuple[str, ...]
    input_names: tuple[str, ...]
    recipe: Recipe | None  # how it was read, where it was

    def __init__(
        self,
        *,
        y: Numbers,
        u: Numbers | None = None,
        dt: float | int | None = None,
        mask: Numbers | None = None,
        name: str | None = None,
        output_names: Sequence[str] | None = None,
        input_names: Sequence[str] | None = None,
        recipe: Recipe | None = None,
    ) -> None:
        name = where = "episode" if name is None else str(name)
        y, output_names = named_columns(y, output_names, what="y", where=where)
        if y.shape[0] == 0 or y.shape[1] == 0:
            raise DataError(f"{where}: y is empty (shape {y.shape}); an episode needs at least one step and one output")
        if u is None:
            u = np.zeros((y.shape[0], 0))
        else:
            u, input_names = named_columns(u, input_names, what="u", where=where)
        _check_lengths(y, u, where=where)
        check_not_transposed(y, output_names, what="y", where=where)
        check_not_transposed(u, input_names, what="u", where=where)
        outputs = _channel_names(output_names, prefix="y", count=y.shape[1], what="output", where=where)
        inputs = _channel_names(input_names, prefix="u", count=u.shape[1], what="input", where=where)
        _check_distinct(outputs + inputs, where=where)
        observed = ~np.isnan(y)
        if mask is not None:
            observed &= _mask(mask, shape=y.shape, where=where)
        check_entries(
            y,
            used=observed,
            what="output",
            names=outputs,
            where=where,
            if_nan="write NaN, or False in the mask, where a measurement is missing",
        )
        check_entries(
            u,
            used=np.ones(u.shape, dtype=bool),
            what="input",
            names=inputs,
            where=where,
            if_nan="inputs must be known at every step: interpolate this channel, or drop these rows "
            "by cutting the record into two episodes",
        )
        self._set("y", _read_only(np.where(observed, y, 0.0)))
        self._set("observed", _read_only(observed))
        self._set("u", _read_only(u))
        self._set("dt", _time_step(dt, where=where))
        self._set("name", name)
        self._set("output_names", outputs)
        self._set("input_names", inputs)
        self._set("recipe", recipe)

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)  # the class is frozen for everyone but its constructor

    @property
    def num_outputs(self) -> int:
        return self.y.shape[1]

    @property
    def num_inputs(self) -> int:
        return self.u.shape[1]

    @property
    def y_with_nan(self) -> Float64[np.ndarray, "T O"]:
        """The measurements as a fresh array with NaN where missing, for plots and files."""
        return np.where(self.observed, self.y, np.nan)

    def _replace(self, **changes: Any) -> "Episode":
        """This record with some fields changed, for callers whose arrays are known to be good: nothing is checked."""
        copy = object.__new__(Episode)
        for field in fields(self):
            value = changes.get(field.name, getattr(self, field.name))
            copy._set(field.name, _read_only(value) if isinstance(value, np.ndarray) else value)
        return copy

    def __len__(self) -> int:
        return self.y.shape[0]

    def __getitem__(self, steps: slice) -> "Episode":
        """A stretch of consecutive steps as an episode of its own, called `name[a:b]`."""
        if not isinstance(steps, slice):
            raise TypeError(f"an Episode is cut with slices, such as episode[10:20], not with {steps!r}")
        start, stop, step = steps.indices(len(self))
        if step != 1:
            raise DataError(
                f"{self.name}: cannot be cut with step {step}; u[t] is held for one step only, so a thinned "
                "record would lose inputs: resample y and u before building the Episode"
            )
        if stop <= start:
            raise DataError(f"{self.name}: the slice [{start}:{stop}] of its {len(self)} steps is empty")
        return self._replace(
            y=self.y[start:stop],
            u=self.u[start:stop],
            observed=self.observed[start:stop],
            name=f"{self.name}[{start}:{stop}]",
        )

    # Without this, `for step in episode` would try episode[0] and fail with a puzzling message.
    __iter__ = None

    def head(self, n: int) -> "Episode":
        """The first n steps (all of them if there are fewer)."""
        return self[: _count(n, what="head", where=self.name)]

    def tail(self, n: int) -> "Episode":
        """All but the first n steps."""
        return self[_count(n, what="tail", where=self.name) :]

    def __repr__(self) -> str:
        missing = int(np.sum(~self.observed))
        return (
            f"Episode('{self.name}', {len(self)} steps, outputs={list(self.output_names)}, "
            f"inputs={list(self.input_names)}, dt={self.dt}, missing={missing})"
        )


def _check_lengths(y: Float64[np.ndarray, "T O"], u: Float64[np.ndarray, "S P"], *, where: str) -> None:
    if len(y) == len(u):
        return
    if y.shape[1] == len(u) or u.shape[1] == len(y):
        hint = "time runs down the rows: is one of them transposed?"
    elif len(u) == len(y) - 1:
        hint = "u[t] is held from t to t + 1: repeat the last input once, it has no effect within the record"
    else:
        hint = "cut both to the stretch in which they were recorded together"
    raise DataError(f"{where}: y has {len(y)} steps but u has {len(u)}; {hint}")


def _channel_names(names: Sequence[str] | None, *, prefix: str, count: int, what: str, where: str) -> tuple[str, ...]:
    if names is None:
        return tuple(f"{prefix}{i}" for i in range(count))
    if isinstance(names, str):
        raise DataError(f"{where}: {what}_names is the string '{names}'; pass a list of names, such as ['{names}']")
    given = tuple(str(name) for name in names)
    if len(given) != count:
        raise DataError(f"{where}: {len(given)} {what}_names {list(given)} for {count} {what} channels; give one each")
    return given


def _check_distinct(names: tuple[str, ...], *, where: str) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(f"{where}: channel name '{repeated[0]}' is used more than once in {list(names)}; rename one")


def _mask(mask: Numbers, *, shape: tuple[int, int], where: str) -> Bool[np.ndarray, "T O"]:
    array = numeric_columns(mask, what="mask", where=where)
    if array.shape != shape:
        raise DataError(
            f"{where}: mask has shape {array.shape} but y has shape {shape}; the mask needs one entry per entry of y"
        )
    bad = np.argwhere((array != 0.0) & (array != 1.0))
    if len(bad) > 0:
        row, column = (int(i) for i in bad[0])
        raise DataError(
            f"{where}: mask is {array[row, column]} at row {row}, column {column}; "
            "use True (or 1) for measured and False (or 0) for missing"
        )
    return array == 1.0


def _time_step(dt: float | int | None, *, where: str) -> float | None:
    if dt is None:
        return None
    try:
        if isinstance(dt, str | bytes | bool | np.bool_):
            raise TypeError("text and truth values become numbers too easily")
        value = float(dt)
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: dt is {dt!r}, which is not a number; pass the time between two steps") from error
    if not (math.isfinite(value) and value > 0.0):
        raise DataError(f"{where}: dt is {dt}; the time between two steps must be positive and finite, or None")
    return value


def _count(n: int, *, what: str, where: str) -> int:
    if n < 0:
        raise DataError(f"{where}: {what}({n}) asks for a negative number of steps; use a slice instead")
    return n


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
