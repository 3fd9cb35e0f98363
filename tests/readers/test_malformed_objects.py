"""Malformed objects are refused by every reader that takes them, with a word on where and what to do."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gpssm
from gpssm.readers import from_benchmark, from_dataframe, from_pairs, from_xarray

U, Y = np.sin(np.arange(20.0)), np.cos(np.arange(20.0))
HOLED = np.where(np.arange(20) == 6, np.nan, U)
FRAME = {"u": U, "y": Y}


def pd() -> ModuleType:
    """pandas, imported by those who need it."""
    return import_module("pandas")


def pl() -> ModuleType:
    """polars."""
    return import_module("polars")


def xr() -> ModuleType:
    """xarray."""
    return import_module("xarray")


@dataclass
class Record:
    """What a benchmark record looks like."""

    u: Any
    y: Any
    sampling_time: float | None = 0.1
    name: str | None = None


def frame(data: Any, **columns: Any) -> gpssm.Episodes:
    return from_dataframe(data, **({"outputs": "y", "inputs": "u"} | columns))


def pairs(*items: Any, **options: Any) -> gpssm.Episodes:
    return from_pairs(list(items), **options)


def dataset(variables: dict[str, Any], **options: Any) -> gpssm.Episodes:
    return from_xarray(xr().Dataset(variables), **({"outputs": "y", "inputs": "u"} | options))


CASES: list[tuple[str, Callable[[], object], tuple[str, ...]]] = [
    ("frame: a dictionary", lambda: frame(FRAME), ("dict", "data frame")),
    ("frame: lazy", lambda: frame(pl().LazyFrame(FRAME)), ("collect",)),
    ("frame: no rows", lambda: frame(pd().DataFrame(FRAME).head(0)), ("no rows",)),
    ("frame: one row", lambda: frame(pd().DataFrame(FRAME).head(1)), ("row 0",)),
    ("frame: no such column", lambda: frame(pd().DataFrame(FRAME), outputs="angle"), ("'angle'", "'y'")),
    ("frame: text", lambda: frame(pd().DataFrame(FRAME | {"y": ["a"] * 20})), ("'y'", "row 0", "'a'")),
    ("frame: text, polars", lambda: frame(pl().DataFrame(FRAME | {"y": ["a"] * 20})), ("'y'", "row 0")),
    ("frame: truth values", lambda: frame(pl().DataFrame(FRAME | {"u": U > 0})), ("'u'", "1 and 0")),
    ("frame: NaN in an input", lambda: frame(pd().DataFrame(FRAME | {"u": HOLED})), ("'u'", "row 6")),
    ("frame: null in an input", lambda: frame(pl().DataFrame(FRAME | {"u": [None, *U[1:]]})), ("'u'", "row 0")),
    ("frame: infinite", lambda: frame(pl().DataFrame(FRAME | {"y": [np.inf, *Y[1:]]})), ("'y'", "row 0", "infinite")),
    ("frame: nothing measured", lambda: frame(pl().DataFrame(FRAME | {"y": np.full(20, np.nan)})), ("'y'",)),
    ("frame: no outputs named", lambda: frame(pl().DataFrame(FRAME), outputs=[]), ("outputs",)),
    ("frame: empty name", lambda: frame(pl().DataFrame(FRAME), outputs=[" "]), ("empty",)),
    ("frame: time repeats", lambda: frame(pl().DataFrame(FRAME | {"t": [0.0] * 20}), time="t"), ("'t'", "repeats")),
    ("frame: uneven dates", lambda: frame(_dated([0, 1, 2, 5]), time="t"), ("2 samples are missing", "row 2")),
    ("frame: two columns of a name", lambda: frame(pd().DataFrame(np.ones((20, 3)), columns=["u", "y", "y"])), ("y",)),
    ("pairs: no pair", lambda: pairs(Y), ("pair", "(u, y)")),
    ("pairs: three in one", lambda: pairs((U, Y, Y)), ("pair",)),
    ("pairs: none", lambda: pairs(), ("at least one",)),
    ("pairs: unequal lengths", lambda: pairs((U[:7], Y)), ("20", "7", "cut")),
    ("pairs: one input short", lambda: pairs((U[:19], Y)), ("repeat the last input",)),
    ("pairs: transposed", lambda: pairs((np.ones((2, 20)), Y)), ("transposed",)),
    ("pairs: three dimensions", lambda: pairs((U, np.ones((2, 20, 1)))), ("dimensions",)),
    ("pairs: complex", lambda: pairs((U, Y + 1j)), ("complex",)),
    ("pairs: text", lambda: pairs((U, np.array(["1"] * 20))), ("not numeric",)),
    ("pairs: objects", lambda: pairs((U, np.array([None] * 20, dtype=object))), ("None",)),
    ("pairs: masked", lambda: pairs((U, np.ma.masked_array(Y, Y > 0))), ("masked", "filled")),
    ("pairs: rows of unequal length", lambda: pairs((U, [[1.0], [1.0, 2.0]])), ("equal length",)),
    ("pairs: NaN in an input", lambda: pairs((HOLED, Y)), ("row 6", "interpolate")),
    ("pairs: infinite output", lambda: pairs((U, np.where(Y > 0.9, np.inf, Y))), ("infinite",)),
    ("pairs: other channels", lambda: pairs((U, Y), (U, np.stack([Y, Y], 1))), ("outputs",)),
    ("pairs: dt zero", lambda: pairs((U, Y), dt=0), ("dt",)),
    ("pairs: too few names", lambda: pairs((U, Y), output_names=["a", "b"]), ("output_names",)),
    ("benchmark: an array", lambda: from_benchmark(Y), ("ndarray", "u and y")),
    ("benchmark: a pair", lambda: from_benchmark((U, Y)), ("u and y",)),
    ("benchmark: unequal lengths", lambda: from_benchmark(Record(U[:5], Y)), ("20", "5")),
    ("benchmark: other steps", lambda: from_benchmark([Record(U, Y), Record(U, Y, 0.2)]), ("dt",)),
    ("xarray: a frame", lambda: from_xarray(3, outputs="y"), ("int", "Dataset")),
    ("xarray: no such variable", lambda: dataset({"u": ("t", U), "angle": ("t", Y)}), ("'y'", "'u'")),
    ("xarray: two dimensions", lambda: dataset({"u": ("t", U), "y": (("t", "c"), Y[:, None])}), ("'y'", "dimensions")),
    ("xarray: unequal lengths", lambda: dataset({"u": ("s", U[:5]), "y": ("t", Y)}), ("length",)),
    ("xarray: no such episode", lambda: dataset({"u": ("t", U), "y": ("t", Y)}, episode="run"), ("'run'",)),
    ("xarray: NaN in an input", lambda: dataset({"u": ("t", HOLED), "y": ("t", Y)}), ("'u'", "row 6")),
]


def _dated(seconds: list[int]) -> Any:
    stamps = np.array(seconds, dtype="datetime64[s]").astype("datetime64[us]")
    return pl().DataFrame({"t": stamps, "u": U[: len(seconds)], "y": Y[: len(seconds)]})


@pytest.mark.parametrize(("make", "mentions"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_refused(make: Callable[[], object], mentions: tuple[str, ...]):
    arrays = [U.copy(), Y.copy()]
    with pytest.raises(gpssm.DataError) as caught:
        make()
    for mention in mentions:
        assert mention in str(caught.value), f"'{mention}' is missing in: {caught.value}"
    np.testing.assert_array_equal(arrays, [U, Y])
