"""One record: what it stores, how it is cut, and what it complains about."""

import dataclasses
import pickle
import re

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpssm.data import DataError, Episode

# No deadline: on a busy machine the time of a single example says nothing.
quick = settings(deadline=None, max_examples=40)

finite = st.floats(-1e6, 1e6)


@st.composite
def records(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """y, mask and u of the same length; P may be 0."""
    steps, outputs, inputs = draw(st.integers(1, 12)), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    y = draw(hnp.arrays(np.float64, (steps, outputs), elements=finite))
    mask = draw(hnp.arrays(np.bool_, (steps, outputs)))
    u = draw(hnp.arrays(np.float64, (steps, inputs), elements=finite))
    return y, mask, u


def complaint(*parts: str) -> str:
    """A pattern for a message that contains all parts, in this order."""
    return "(?s)" + ".*".join(re.escape(part) for part in parts)


@quick
@given(records())
def test_nan_and_mask_mean_the_same(record):
    y, mask, u = record
    by_mask = Episode(y=y, u=u, mask=mask)
    by_nan = Episode(y=np.where(mask, y, np.nan), u=u)
    for episode in (by_mask, by_nan):
        np.testing.assert_array_equal(episode.observed, mask)
        np.testing.assert_array_equal(episode.y, np.where(mask, y, 0.0))
        np.testing.assert_array_equal(episode.y_with_nan, np.where(mask, y, np.nan))
        np.testing.assert_array_equal(episode.u, u)


def test_nan_beside_a_mask_is_missing_too():
    episode = Episode(y=[[1.0, np.nan], [2.0, 3.0]], mask=[[True, True], [False, True]])
    np.testing.assert_array_equal(episode.observed, [[True, False], [False, True]])


def test_nan_marks_only_its_own_entry():
    episode = Episode(y=[[1.0, np.nan], [2.0, 3.0]])
    np.testing.assert_array_equal(episode.observed, [[True, False], [True, True]])
    np.testing.assert_array_equal(episode.y, [[1.0, 0.0], [2.0, 3.0]])


def test_what_is_hidden_by_the_mask_is_not_judged():
    episode = Episode(y=[[np.inf, 1e200], [1.0, 2.0]], mask=[[0, 0], [1, 1]])
    np.testing.assert_array_equal(episode.y, [[0.0, 0.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    "values",
    [[1, 2, 3], (True, False, True), np.array([1, 2, 3], np.int8), np.ones(3, np.float16), jnp.ones(3, jnp.float32)],
)
def test_one_dimensional_numbers_become_one_column(values):
    episode = Episode(y=values, u=values, mask=np.array([1, 0, 1]))
    expected = np.array([[float(v)] for v in values])
    np.testing.assert_array_equal(episode.u, expected)
    np.testing.assert_array_equal(episode.y, expected * [[1.0], [0.0], [1.0]])
    assert episode.y.dtype == episode.u.dtype == np.float64
    assert episode.observed.dtype == np.bool_


def test_attributes_and_defaults():
    episode = Episode(y=np.ones((4, 2)))
    assert (len(episode), episode.num_outputs, episode.num_inputs) == (4, 2, 0)
    assert episode.u.shape == (4, 0)
    assert episode.dt is None
    assert episode.output_names == ("y0", "y1")
    assert episode.input_names == ()
    assert isinstance(episode.name, str)
    named = Episode(y=[1.0], u=[[2.0, 3.0]], dt=1, name="run", output_names=["angle"], input_names=["a", "b"])
    assert (named.dt, named.name, named.output_names, named.input_names) == (1.0, "run", ("angle",), ("a", "b"))
    assert isinstance(named.dt, float)


def test_the_record_is_a_read_only_copy():
    y, u = np.ones((3, 1)), np.ones(3)
    episode = Episode(y=y, u=u)
    y[:], u[:] = 7.0, 7.0
    np.testing.assert_array_equal(episode.y, np.ones((3, 1)))
    np.testing.assert_array_equal(episode.u, np.ones((3, 1)))
    for array in (episode.y, episode.u, episode.observed):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        episode.dt = 0.1  # pyright: ignore[reportAttributeAccessIssue]
    episode.y_with_nan[:] = 5.0
    np.testing.assert_array_equal(episode.y, np.ones((3, 1)))


@quick
@given(records(), st.data())
def test_slices_cut_all_arrays_alike(record, data):
    y, mask, u = record
    names = {
        "output_names": [f"out{i}" for i in range(y.shape[1])],
        "input_names": [f"in{i}" for i in range(u.shape[1])],
    }
    episode = Episode(y=y, u=u, mask=mask, dt=0.5, name="run", **names)
    start = data.draw(st.integers(0, len(y) - 1))
    stop = data.draw(st.integers(start + 1, len(y) + 3))
    part = episode[start:stop]
    np.testing.assert_array_equal(part.y_with_nan, np.where(mask, y, np.nan)[start:stop])
    np.testing.assert_array_equal(part.observed, mask[start:stop])
    np.testing.assert_array_equal(part.u, u[start:stop])
    assert part.name == f"run[{start}:{min(stop, len(y))}]"
    assert (part.dt, part.output_names, part.input_names) == (0.5, episode.output_names, episode.input_names)


@quick
@given(records(), st.data())
def test_a_slice_is_what_the_constructor_would_have_made(record, data):
    """It is put together without checks, from arrays that are known to be good."""
    y, mask, u = record
    episode = Episode(y=y, u=u, mask=mask, dt=0.5, name="run")
    start = data.draw(st.integers(0, len(y) - 1))
    stop = data.draw(st.integers(start + 1, len(y)))
    part = episode[start:stop]
    built = Episode(y=y[start:stop], u=u[start:stop], mask=mask[start:stop], dt=0.5, name=f"run[{start}:{stop}]")
    for field in dataclasses.fields(Episode):
        found, expected = getattr(part, field.name), getattr(built, field.name)
        np.testing.assert_array_equal(found, expected)
        assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
    assert not any(array.flags.writeable for array in (part.y, part.u, part.observed))
    again = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(again.y, part.y)
    assert repr(again) == repr(part)


def test_head_and_tail_share_out_the_record():
    episode = Episode(y=np.arange(5.0), u=np.arange(5.0))
    np.testing.assert_array_equal(episode.head(2).y[:, 0], [0, 1])
    np.testing.assert_array_equal(episode.tail(2).y[:, 0], [2, 3, 4])
    np.testing.assert_array_equal(episode.head(9).u, episode.u)
    np.testing.assert_array_equal(episode.tail(0).u, episode.u)
    np.testing.assert_array_equal(episode[-2:].y[:, 0], [3, 4])


def test_cuts_that_make_no_sense():
    episode = Episode(y=np.arange(5.0), name="run")
    for cut in (lambda: episode[3:3], lambda: episode.head(0), lambda: episode.tail(5)):
        with pytest.raises(DataError, match=complaint("run", "5 steps", "empty")):
            cut()
    with pytest.raises(DataError, match="step 2"):
        episode[::2]
    with pytest.raises(DataError, match="negative"):
        episode.head(-1)
    with pytest.raises(DataError, match="negative"):
        episode.tail(-1)
    with pytest.raises(TypeError):
        iter(episode)  # pyright: ignore[reportCallIssue, reportArgumentType]


RAGGED = [[1.0, 2.0], [3.0]]
OBJECTS = np.array([[1.0], [None]], dtype=object)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"y": []}, ["run", "y is empty", "at least one step"]),
        ({"y": np.ones((3, 0))}, ["run", "y is empty", "(3, 0)"]),
        ({"y": np.ones((2, 3, 4))}, ["run", "y has 3 dimensions", "(2, 3, 4)", "list of arrays"]),
        ({"y": np.array(1.0)}, ["run", "y has 0 dimensions"]),
        ({"y": [1.0], "u": np.ones((1, 1, 1))}, ["run", "u has 3 dimensions"]),
        ({"y": np.ones(5), "u": np.ones(9)}, ["run", "y has 5 steps but u has 9"]),
        ({"y": np.ones(5), "u": np.ones(4)}, ["y has 5 steps but u has 4", "repeat the last input"]),
        ({"y": np.ones((2, 9)), "u": np.ones(9)}, ["y has 2 steps but u has 9", "transposed"]),
        ({"y": OBJECTS}, ["run", "y has dtype object", "row 1, column 0: None", "dtype=float"]),
        ({"y": [1.0, 2.0], "u": ["1", "off"]}, ["run", "u has dtype", "not numeric", "row 0"]),
        ({"y": np.array(["2020-01-01"], dtype="datetime64[D]")}, ["y has dtype datetime64"]),
        ({"y": np.ones(3) * 1j}, ["run", "y is complex"]),
        ({"y": np.ma.masked_less(np.arange(3.0), 1.0)}, ["run", "masked array", "filled(np.nan)"]),
        ({"y": [[0, 1], [0, np.inf], [-np.inf, 0]]}, ["run", "output 'b' (column 1)", "infinite at row 1", "1 more"]),
        ({"y": [[0, 1], [-1e101, 0]]}, ["run", "output 'a' (column 0)", "1e100", "row 1", "NaN"]),
        ({"y": [0, 1, 2], "u": [0, np.nan, 0]}, ["run", "input 'force'", "NaN at row 1", "interpolate", "drop"]),
        ({"y": [0, 1, 2], "u": [0, 0, -np.inf]}, ["run", "input 'force'", "infinite at row 2", "interpolate"]),
        ({"y": [0, 1, 2], "u": [1e300, 0, 0]}, ["run", "input 'force'", "1e100", "row 0"]),
        ({"y": [0, 1], "dt": 0.0}, ["run", "dt is 0.0", "positive"]),
        ({"y": [0, 1], "dt": -1}, ["run", "dt is -1", "positive"]),
        ({"y": [0, 1], "dt": np.nan}, ["run", "dt is nan", "finite"]),
        ({"y": [0, 1], "dt": np.inf}, ["run", "dt is inf", "finite"]),
        ({"y": [0, 1], "mask": [True]}, ["run", "mask has shape (1, 1)", "y has shape (2, 1)"]),
        ({"y": np.ones((2, 2)), "mask": [True, False]}, ["run", "mask has shape (2, 1)", "(2, 2)"]),
        ({"y": [0, 1], "mask": [1, 2]}, ["run", "mask is 2.0 at row 1, column 0", "True"]),
        ({"y": [0, 1], "mask": [1, np.nan]}, ["run", "mask is nan at row 1"]),
        ({"y": [0, 1], "mask": ["yes", "no"]}, ["run", "mask has dtype"]),
    ],
)
def test_bad_arrays_are_named(arguments, parts):
    names = {}
    if np.ndim(arguments.get("u")) == 1:
        names["input_names"] = ["force"]
    if np.ndim(arguments["y"]) == 2 and np.shape(arguments["y"])[1] == 2:
        names["output_names"] = ["a", "b"]
    with pytest.raises(DataError, match=complaint(*parts)):
        Episode(**arguments, **names, name="run")


def test_rows_of_unequal_length():
    with pytest.raises(DataError, match=complaint("run", "y", "equal length")):
        Episode(y=RAGGED, name="run")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        ({"output_names": ["a"]}, ["1 output_names", "2 output channels"]),
        ({"input_names": ["a", "b"]}, ["2 input_names", "1 input channels"]),
        ({"output_names": "ab"}, ["output_names is the string 'ab'", "list"]),
        ({"output_names": ["a", "a"]}, ["'a'", "more than once"]),
        ({"output_names": ["a", "b"], "input_names": ["b"]}, ["'b'", "more than once"]),
    ],
)
def test_bad_names(names, parts):
    with pytest.raises(DataError, match=complaint("run", *parts)):
        Episode(y=np.ones((3, 2)), u=np.ones(3), name="run", **names)


def test_a_data_error_is_a_value_error():
    with pytest.raises(ValueError, match="empty"):
        Episode(y=[])


def test_repr_counts_what_is_missing():
    text = repr(Episode(y=[1.0, np.nan], dt=0.1, name="run"))
    assert "run" in text
    assert "2 steps" in text
    assert "missing=1" in text
