"""What was done to records when they were read is kept, can be done again, and can be changed by name."""

from pathlib import Path

import numpy as np
import pytest

import gpssm
from gpssm.data import DataError, Recipe
from gpssm.readers import CsvFormat, read, read_inputs

T = np.array([0, 20, 40, 40, 60, 100, 120, 140], dtype=float)  # one stamp twice, one lost
U = ["1", "1", "", "9", "2", "2", "3", "3"]
Y = [4.0, 5.0, 6.0, 99.0, 7.0, 9.0, 10.0, 11.0]
HOW = {
    "outputs": "speed",
    "inputs": "torque",
    "time": "t",
    "time_unit": "ms",
    "resample": 0.02,
    "skip_rows": 1,
    "hold_inputs": True,
    "drop_repeats": True,
    "offsets": {"speed": 4.0},
    "style": CsvFormat(decimal=","),
}


def write(path: Path, header: str = "t;torque;speed", units: str = "ms;Nm;rpm") -> Path:
    rows = [f"{t:.1f};{u};{y}".replace(".", ",") for t, u, y in zip(T, U, Y, strict=True)]
    path.write_text("\n".join([header, units, *rows]) + "\n")
    return path


def expected(episode: gpssm.Episode) -> None:
    """By hand: the second row of 40 ms goes, its missing input is held, 80 ms is missing, and 4 is subtracted."""
    np.testing.assert_allclose(episode.y_with_nan[:, 0], [0.0, 1.0, 2.0, 3.0, np.nan, 5.0, 6.0, 7.0], atol=1e-9)
    np.testing.assert_allclose(episode.u[:, 0], [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0])
    assert episode.dt == 0.02


def test_everything_is_done_and_kept(tmp_path: Path):
    episodes = read(write(tmp_path / "a.csv"), **HOW)
    expected(episodes[0])
    recipe = episodes.recipe
    assert recipe is not None
    assert recipe.facts() == {
        "outputs": ("speed",),
        "inputs": ("torque",),
        "time": "t",
        "time_unit": "ms",
        "resample": 0.02,
        "skip_rows": 1,
        "hold_inputs": True,
        "drop_repeats": True,
        "offsets": {"speed": 4.0},
        "decimal": ",",
        "units": {"speed": "rpm", "torque": "Nm"},
        "clock": "ms",
    }


def test_a_recipe_reads_another_raw_file_alike(tmp_path: Path):
    first = read(write(tmp_path / "a.csv"), **HOW)
    again = read(write(tmp_path / "b.csv"), recipe=first.recipe)
    expected(again[0])
    assert again.recipe == first.recipe
    assert first[0][2:5].recipe is first.recipe
    assert first.windows(4).recipe is first.recipe


def test_what_is_given_wins_over_the_recipe(tmp_path: Path):
    path = write(tmp_path / "a.csv")
    recipe = read(path, **HOW).recipe
    assert read(path, recipe=recipe, resample=0.04).dt == 0.04
    rows = read(path, recipe=recipe, dt=0.5)
    assert (rows.dt, len(rows[0]), rows.recipe.time, rows.recipe.resample) == (0.5, len(T), None, None)
    assert read(path, recipe=recipe, offsets={})[0].y[0, 0] == 4.0
    with pytest.raises(DataError, match=r"line 5.*--hold-inputs"):
        read(path, recipe=recipe, hold_inputs=False)
    with pytest.raises(DataError, match="the columns are those of the model"):
        read(path, recipe=recipe, outputs="torque")


def test_a_model_reads_as_its_training_records_were_read(tmp_path: Path):
    first = read(write(tmp_path / "a.csv"), **HOW)
    model = gpssm.fit(first, gpssm.Constant(), progress=gpssm.Silent()).system
    expected(model.read(write(tmp_path / "b.csv"))[0])
    assert model.recipe == first.recipe
    gpssm.save(model, tmp_path / "m.gpssm")
    loaded = gpssm.load(tmp_path / "m.gpssm")
    assert loaded.recipe == first.recipe
    expected(loaded.read(tmp_path / "b.csv")[0])
    told = gpssm.describe(tmp_path / "m.gpssm")
    assert told["units"] == {"speed": "rpm", "torque": "Nm"}
    assert told["recipe"]["time_unit"] == "ms"


def test_inputs_to_come_are_read_alike_and_need_no_stamps(tmp_path: Path):
    recipe = read(write(tmp_path / "a.csv"), **HOW).recipe
    np.testing.assert_array_equal(read_inputs(tmp_path / "a.csv", recipe=recipe)[:, 0], [1, 1, 1, 2, 2, 2, 3, 3])
    (tmp_path / "b.csv").write_text("torque\nNm\n1,5\n2,5\n")
    np.testing.assert_array_equal(read_inputs(tmp_path / "b.csv", recipe=recipe)[:, 0], [1.5, 2.5])
    (tmp_path / "c.csv").write_text("torque\nlbf\n1,5\n2,5\n")
    with pytest.raises(DataError, match=r"'torque' is in lbf.*fit it is in Nm"):
        read_inputs(tmp_path / "c.csv", recipe=recipe)


@pytest.mark.parametrize(
    ("header", "units"), [("t;torque;speed", "ms;Nm;rad/s"), ("t [ms];torque [Nm];speed [rad/s]", "ms;Nm;")]
)
def test_another_unit_is_refused_wherever_it_stands(tmp_path: Path, header: str, units: str):
    recipe = read(write(tmp_path / "a.csv"), **HOW).recipe
    with pytest.raises(DataError, match=r"b\.csv: column 'speed' is in rad/s, but in the records of the fit .* rpm"):
        read(write(tmp_path / "b.csv", header, units), recipe=recipe)


def test_files_that_differ_in_a_unit_are_not_read_together(tmp_path: Path):
    (tmp_path / "a.csv").write_text("u [V],y\n1,2\n2,3\n")
    (tmp_path / "b.csv").write_text("u [mV],y\n1000,2\n2000,3\n")
    with pytest.raises(DataError, match=r"b\.csv: column 'u' is in mV, but in .*a\.csv it is in V"):
        read([tmp_path / "a.csv", tmp_path / "b.csv"], outputs="y", inputs="u")
    one, two = (read(tmp_path / name, outputs="y", inputs="u") for name in ("a.csv", "b.csv"))
    with pytest.raises(DataError, match="disagree in the unit of 'u': V and mV"):
        gpssm.Episodes([*one, *two])
    with pytest.raises(DataError, match=r"b\.csv' has 'u' in mV, but the model was fitted to V"):
        gpssm.predict.Channels.of(one).check(two[0])


def test_a_column_with_another_unit_in_its_name_is_named(tmp_path: Path):
    (tmp_path / "a.csv").write_text("u,y [mV]\n1,2\n2,3\n")
    with pytest.raises(DataError, match=r"no column 'y \[V\]' for the output, but 'y \[mV\]', in another unit"):
        read(tmp_path / "a.csv", outputs="y [V]")


def test_a_name_without_its_unit_must_be_one_column(tmp_path: Path):
    (tmp_path / "a.csv").write_text("y [V],y [mV]\n1,2\n2,3\n")
    with pytest.raises(DataError, match=r"2 columns are called 'y'.*choose among y \[V\], y \[mV\]"):
        read(tmp_path / "a.csv", outputs="y")
    assert read(tmp_path / "a.csv", outputs="y [V]").recipe.units == ("V",)


def test_units_of_an_xarray_are_its_attributes():
    xarray = pytest.importorskip("xarray")
    data = xarray.Dataset({"y": ("t", np.arange(4.0), {"units": "bar"}), "u": ("t", np.ones(4))})
    assert read(data, outputs="y", inputs="u").recipe.units_by_name == {"y": "bar"}


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"units": ("m",)}, {"offsets": (1.0,)}, {"skip_rows": -1}, {"time_unit": "year"}, {"dt": -1.0}],
    ids=str,
)
def test_a_recipe_that_no_reader_would_make_is_refused(change):
    with pytest.raises(DataError):
        Recipe(**{"outputs": ("y",), "inputs": ("u",)} | change)


def test_the_unit_of_the_clock_is_compared_too(tmp_path: Path):
    """Milliseconds resampled as if they were seconds would be a thousand rows for one."""
    rows = "".join(f"{i},{i % 3},{i % 5}\n" for i in range(20))
    (tmp_path / "a.csv").write_text("t [s],u,y\n" + rows)
    (tmp_path / "b.csv").write_text("t [ms],u,y\n" + rows)
    how = {"outputs": "y", "inputs": "u", "time": "t", "resample": 0.5}
    recipe = read(tmp_path / "a.csv", **how).recipe
    assert recipe.clock == "s"
    with pytest.raises(DataError, match=r"b\.csv: column 't' is in ms, but in the records of the fit it is in s"):
        read(tmp_path / "b.csv", recipe=recipe)
    with pytest.raises(DataError, match=r"column 't' \(time\) is in s, but time_unit is 'ms'"):
        read(tmp_path / "a.csv", time_unit="ms", **how)


@pytest.mark.parametrize(("fitted", "unit"), [("s", None), ("ms", "ms")])
def test_stamps_in_another_unit_than_those_of_the_fit_are_read_by_naming_it(tmp_path: Path, fitted: str, unit):
    """Where the model counts seconds; the complaint tells the flag."""
    rows = [f",{i % 3},{i % 5}\n" for i in range(20)]
    per = {"s": 0.1, "ms": 100.0, "us": 100_000.0}
    for name in per:
        (tmp_path / f"{name}.csv").write_text(
            f"t [{name}],u,y\n" + "".join(f"{per[name] * i:.10g}{row}" for i, row in enumerate(rows))
        )
    recipe = read(tmp_path / f"{fitted}.csv", outputs="y", inputs="u", time="t", time_unit=unit).recipe
    with pytest.raises(DataError, match=r"column 't' is in us, but .* \(--time-unit us\)"):
        read(tmp_path / "us.csv", recipe=recipe)
    again = read(tmp_path / "us.csv", recipe=recipe, time_unit="us")
    assert again.dt == pytest.approx(0.1)
    with pytest.raises(DataError, match=r"column 't' \(time\) is in us, but time_unit is 'h'"):
        read(tmp_path / "us.csv", recipe=recipe, time_unit="h")


def test_a_model_that_counts_milliseconds_goes_on_counting_them(tmp_path: Path):
    """Its steps are 100, and seconds resampled to 100 would pass for it."""
    (tmp_path / "a.csv").write_text("t [ms],u,y\n" + "".join(f"{100 * i},{i % 3},{i % 5}\n" for i in range(20)))
    recipe = read(tmp_path / "a.csv", outputs="y", inputs="u", time="t", resample=100.0).recipe
    with pytest.raises(DataError, match="count time in ms, and so does the model"):
        read(tmp_path / "a.csv", recipe=recipe, time_unit="ms")
    assert read(tmp_path / "a.csv", recipe=recipe).dt == 100.0


def test_resampling_to_a_thousand_rows_for_one_is_named(tmp_path: Path, caplog):
    (tmp_path / "a.csv").write_text("t,u,y\n" + "".join(f"{1000 * i},{i % 3},{i % 5}\n" for i in range(20)))
    how = {"outputs": "y", "inputs": "u", "time": "t"}
    read(tmp_path / "a.csv", resample=500.0, **how)
    assert not caplog.messages
    read(tmp_path / "a.csv", resample=1.0, **how)
    assert "1e+03 rows are made of each: does its time count another unit" in caplog.messages[-1]
