"""Channels that bring their names are known by them, and an array on its side is not taken for many channels."""

import numpy as np
import pytest

import gpssm
from gpssm import DataError, Episode, Episodes

A, B = np.arange(5.0), np.arange(5.0) ** 2
libraries = pytest.mark.parametrize("library", ["pandas", "polars"])


def frame(library: str, **columns: np.ndarray):
    return pytest.importorskip(library).DataFrame(columns)


@libraries
def test_a_frame_brings_the_names_of_its_columns(library):
    record = Episode(y=frame(library, height=A, speed=B), u=frame(library, force=B))
    assert (record.output_names, record.input_names) == (("height", "speed"), ("force",))
    np.testing.assert_array_equal(record.y, np.stack([A, B], axis=1))


@libraries
def test_names_find_the_columns_of_a_frame_whatever_their_order(library):
    record = Episode(y=frame(library, speed=B, height=A), output_names=["height", "speed"])
    np.testing.assert_array_equal(record.y, np.stack([A, B], axis=1))


@libraries
def test_a_frame_with_other_columns_than_said_is_refused(library):
    with pytest.raises(DataError, match=r"run: y is a frame with the columns pace, height.*height, speed"):
        Episode(y=frame(library, pace=A, height=B), output_names=["height", "speed"], name="run")


@libraries
def test_a_model_refuses_a_frame_in_another_order(library):
    """By position the two columns would be swapped in silence."""
    fitted = gpssm.predict.Channels(("height", "speed"), ())
    fitted.check(Episode(y=frame(library, height=A, speed=B)))
    with pytest.raises(DataError, match="in that order"):
        fitted.check(Episode(y=frame(library, speed=B, height=A)))


def test_a_series_brings_its_name_and_can_be_renamed():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(A, name="angle")
    assert Episode(y=series).output_names == ("angle",)
    assert Episode(y=series, output_names=["position"]).output_names == ("position",)
    assert Episode(y=pandas.Series(A)).output_names == ("y0",)
    assert Episode(y=pandas.DataFrame(np.stack([A, B], 1))).output_names == ("y0", "y1")


def test_arrays_on_their_side_are_refused():
    with pytest.raises(DataError, match=r"y has 1 step and 60 outputs \(shape \(1, 60\)\).*pass y\.T"):
        Episode(y=np.ones((1, 60)))
    with pytest.raises(DataError, match=r"u has 1 step and 60 inputs.*pass u\.T"):
        Episode(y=np.ones((1, 1)), u=np.ones((1, 60)))
    with pytest.raises(DataError, match=r"episode 0: y has 2 steps and 60 outputs"):
        Episodes.from_arrays(y=[np.ones((2, 60))])


def test_few_channels_and_named_ones_may_outnumber_the_steps():
    assert Episode(y=np.ones((1, 3))).num_outputs == 3
    assert Episode(y=np.ones((1, 60)), output_names=[f"sensor {i}" for i in range(60)]).num_outputs == 60
