"""Channels are matched by name: records, and frames of future inputs."""

import numpy as np
import pytest

import gpssm
from gpssm.predict import Channels

FITTED = Channels(("height", "speed"), ("force", "wind"), 0.1)


def record(**change) -> gpssm.Episode:
    names = {"output_names": ["height", "speed"], "input_names": ["force", "wind"], "dt": 0.1, "name": "run 7"}
    return gpssm.Episode(y=np.zeros((4, 2)), u=np.zeros((4, 2)), **(names | change))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"dt": None},
        {"dt": 0.1 * (1.0 + 1e-9)},
        {"output_names": None},
        {"input_names": None},
        {"output_names": None, "input_names": None, "dt": None},
    ],
    ids=["the same", "no time step", "the same time step but for rounding", "no outputs", "no inputs", "no names"],
)
def test_the_same_channels_and_those_without_a_name_pass(change):
    FITTED.check(record(**change))


@pytest.mark.parametrize("names", [("y0", "y1"), ("height", "speed")])
def test_a_model_whose_channels_had_no_names_takes_any_in_their_order(names):
    Channels(("y0", "y1"), ("u0", "u1")).check(record(output_names=names))


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"output_names": ["speed", "height"]}, ["outputs speed, height", "height, speed", "in that order"]),
        ({"input_names": ["wind", "force"]}, ["inputs wind, force", "force, wind", "in that order"]),
        ({"output_names": ["height", "pace"]}, ["outputs height, pace", "height, speed", "rename"]),
        ({"input_names": ["valve", "wind"]}, ["inputs valve, wind", "force, wind", "rename"]),
        ({"dt": 0.2}, ["time step 0.2", "0.1", "resample"]),
    ],
    ids=["outputs swapped", "inputs swapped", "another output", "another input", "another time step"],
)
def test_other_channels_are_refused_and_both_are_named(change, parts):
    with pytest.raises(gpssm.DataError, match="run 7") as caught:
        FITTED.check(record(**change))
    for part in parts:
        assert part in str(caught.value)


def test_the_names_of_channels_that_were_never_named_must_be_in_order_to_count_as_none():
    """y1, y0 are names that somebody gave: those of another order."""
    with pytest.raises(gpssm.DataError, match="y1, y0"):
        FITTED.check(record(output_names=["y1", "y0"]))


INPUTS = {"force": np.array([1.0, 2.0, 3.0]), "wind": np.array([-1.0, 0.0, 5.0])}
EXPECTED = np.stack([INPUTS["force"], INPUTS["wind"]], axis=1)
libraries = pytest.mark.parametrize("library", ["pandas", "polars"])


def frame(library: str, columns: dict):
    return pytest.importorskip(library).DataFrame(columns)


@libraries
@pytest.mark.parametrize("order", [("force", "wind"), ("wind", "force"), ("note", "wind", "time", "force")])
def test_a_frame_of_future_inputs_is_matched_by_the_names_of_its_columns(library, order):
    columns = {name: INPUTS.get(name, np.full(3, 99.0)) for name in order}
    np.testing.assert_array_equal(FITTED.future_inputs(frame(library, columns), None), EXPECTED)


@libraries
def test_a_column_that_is_missing_is_named(library):
    with pytest.raises(gpssm.DataError, match=r"no column 'wind'.*force, wind.*columns are force, breeze"):
        FITTED.future_inputs(frame(library, {"force": [1.0], "breeze": [2.0]}), None)


@libraries
def test_gaps_in_a_frame_are_named_by_column_and_row(library):
    gone = {"wind": [0.0, 1.0, float("nan")], "force": [1.0, 2.0, 3.0]}
    with pytest.raises(gpssm.DataError, match=r"'wind' is not a finite number at row 2"):
        FITTED.future_inputs(frame(library, gone), None)


def test_columns_that_are_numbers_are_found_by_what_they_print_as():
    pandas = pytest.importorskip("pandas")
    numbered = Channels(("y",), ("1", "0"))
    found = numbered.future_inputs(pandas.DataFrame(EXPECTED), None)
    np.testing.assert_array_equal(found, EXPECTED[:, ::-1])


def test_text_in_a_frame_is_no_number():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(gpssm.DataError, match="'wind'"):
        FITTED.future_inputs(pandas.DataFrame({"force": [1.0], "wind": ["strong"]}), None)


def test_an_array_is_taken_in_its_order():
    np.testing.assert_array_equal(FITTED.future_inputs(EXPECTED, 3), EXPECTED)
    np.testing.assert_array_equal(FITTED.future_inputs(EXPECTED.tolist(), None), EXPECTED)


def test_a_forecast_from_a_frame_is_that_from_the_array(linear):
    pandas = pytest.importorskip("pandas")
    future = np.sin(np.arange(5.0))
    columns = {"note": ["x"] * 5, "force": future}
    runs = [
        linear.system.forecast(linear.episode, inputs=inputs, num_samples=4, seed=0)
        for inputs in (pandas.DataFrame(columns), future[:, None])
    ]
    np.testing.assert_array_equal(runs[0].samples, runs[1].samples)


def test_values_far_from_all_that_were_trained_on_are_named(caplog):
    trained = record(name="training")
    seen = gpssm.Episode(
        y=np.array([[0.0, -1.0], [1.0, 1.0]]),
        u=np.array([[0.0, 0.0], [2.0, 0.0]]),
        output_names=trained.output_names,
        input_names=trained.input_names,
        dt=0.1,
    )
    channels = Channels.of(seen)
    channels.check(record(name="run 8"))
    assert not caplog.messages
    millivolts = gpssm.Episode(
        y=1000.0 * seen.y, u=seen.u, output_names=seen.output_names, input_names=seen.input_names, dt=0.1, name="run 9"
    )
    for _ in range(3):
        channels.check(millivolts)
    assert caplog.messages == [
        "'run 9': 'height' lies between 0 and 1000, in training between 0 and 1: is it in another unit? The model "
        "never saw such values",
        "'run 9': 'speed' lies between -1000 and 1000, in training between -1 and 1: is it in another unit? The model "
        "never saw such values",
    ]
    assert channels == Channels(seen.output_names, seen.input_names, 0.1)
