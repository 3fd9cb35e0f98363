"""All faults of all files are told at once, each with the flag that mends it; and the flags mend them."""

import logging
from pathlib import Path

import numpy as np
import pytest

from gpssm.data import DataError
from gpssm.readers import from_dataframe, read

COLUMNS = {"outputs": "y", "inputs": "u"}


def write(path: Path, rows: list[str], header: str = "t,u,y") -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def rows(times: list[float], **cells: dict[int, str]) -> list[str]:
    """t,u,y with some cells replaced, by row."""
    lines = []
    for i, t in enumerate(times):
        u, y = cells.get("u", {}).get(i, str(i % 3)), cells.get("y", {}).get(i, str(i))
        lines.append(f"{t:g},{u},{y}")
    return lines


EVEN = [0.1 * i for i in range(12)]
TWICE = [*EVEN[:5], EVEN[4], *EVEN[5:]]
LOST = [*EVEN[:5], *EVEN[7:]]


def test_every_fault_of_every_file_is_told_with_its_flag(tmp_path: Path):
    write(tmp_path / "a.csv", rows(TWICE, u={3: "", 7: ""}, y={2: "bad", 6: "worse"}))
    write(tmp_path / "b.csv", rows(LOST))
    write(tmp_path / "c.csv", ["s,V,m", *rows(EVEN)])
    write(tmp_path / "d.csv", rows(EVEN), header="t,u,z")
    (tmp_path / "e.csv").write_text("")
    write(tmp_path / "good.csv", rows(EVEN))
    with pytest.raises(DataError) as caught:
        read(str(tmp_path / "*.csv"), time="t", **COLUMNS)
    told = str(caught.value).replace(f"{tmp_path}/", "").splitlines()
    assert told[0] == "7 faults:"
    for file, words in {
        "c.csv": ("line 2", "'s', 'V', 'm'", "--skip-rows 1"),
        "e.csv": ("the file is empty",),
        "a.csv: column 't'": ("line 7", "repeats", "--drop-repeats"),
        "a.csv: column 'y'": ("line 4", "'bad'", "1 more such cell: line 8"),
        "a.csv: column 'u'": ("line 5", "1 more", "--hold-inputs"),
        "b.csv": ("line 6", "2 samples are missing", "--resample 0.1"),
        "d.csv": ("no column 'y'",),
    }.items():
        (line,) = (line for line in told if line.startswith(f"- {file}"))
        for word in words:
            assert word in line, f"'{word}' is missing in: {line}"


def test_the_flags_mend_them(tmp_path: Path):
    path = write(tmp_path / "a.csv", ["s,V,m", *rows(TWICE, u={3: "", 7: ""})])
    (record,) = read(path, time="t", skip_rows=1, drop_repeats=True, hold_inputs=True, **COLUMNS)
    assert (len(record), record.dt) == (12, pytest.approx(0.1))
    # Row 5 of TWICE is the repeated one.
    np.testing.assert_array_equal(record.y[:, 0], [i for i in range(13) if i != 5])
    inputs = [2.0 if i in (3,) else 0.0 if i == 7 else float(i % 3) for i in range(13) if i != 5]
    np.testing.assert_array_equal(record.u[:, 0], inputs)


def test_there_must_be_an_input_to_hold(tmp_path: Path):
    path = write(tmp_path / "a.csv", rows(EVEN, u={0: "", 1: ""}))
    with pytest.raises(DataError, match=r"line 2.*none before it to hold"):
        read(path, time="t", hold_inputs=True, **COLUMNS)


def test_rows_of_numbers_are_never_skipped(tmp_path: Path):
    path = write(tmp_path / "a.csv", rows(EVEN))
    with pytest.raises(DataError, match=r"a\.csv, line 2: this row holds numbers, and .*--skip-rows 1"):
        read(path, time="t", skip_rows=1, **COLUMNS)


@pytest.mark.parametrize(("words", "skip"), [(["s,V,m"], 0), ([], 1), (["s,V,m"], 2)], ids=str)
def test_a_wrong_number_of_rows_to_skip_hides_no_other_fault(tmp_path: Path, words: list[str], skip: int):
    """A file is read as it would be with the right number, and what is wrong further down is told as well."""
    path = write(tmp_path / "a.csv", [*words, *rows(TWICE, u={3: ""}, y={2: "bad"})])
    with pytest.raises(DataError) as caught:
        read(path, time="t", skip_rows=skip, **COLUMNS)
    first = 2 + len(words)
    told = str(caught.value)
    for word in ("4 faults", "--skip-rows", f"line {first + 5}: the time repeats", "--hold-inputs"):
        assert word in told
    assert f"line {first + 2}: 'bad'" in told and f"line {first + 3}: the value is missing" in told


@pytest.mark.parametrize("words", [["1/min,-,%"], ["[s],[V],[m]"], ["s,V,m", "clock,valve,level"]], ids=str)
def test_rows_of_units_are_recognised(tmp_path: Path, words: list[str]):
    path = write(tmp_path / "a.csv", [*words, *rows(EVEN)])
    with pytest.raises(DataError, match=f"line 2: a row of words .*--skip-rows {len(words)}"):
        read(path, time="t", **COLUMNS)
    assert len(read(path, time="t", skip_rows=len(words), **COLUMNS)[0]) == 12


@pytest.mark.parametrize(("unit", "step"), [("ms", 1e-4), ("us", 1e-7), ("ns", 1e-10), ("min", 6.0), ("h", 360.0)])
def test_stamps_of_any_unit_become_seconds(tmp_path: Path, unit: str, step: float):
    path = write(tmp_path / "a.csv", rows(EVEN))
    assert read(path, time="t", time_unit=unit, **COLUMNS).dt == pytest.approx(step, rel=1e-9)


def test_dates_have_their_unit(tmp_path: Path):
    path = write(tmp_path / "a.csv", [f"2024-01-31 12:00:{i:02d},{i % 3},{i}" for i in range(12)])
    with pytest.raises(DataError, match="holds dates; leave time_unit"):
        read(path, time="t", time_unit="ms", **COLUMNS)


def test_milliseconds_beside_seconds_are_recognised(tmp_path: Path):
    write(tmp_path / "a.csv", rows(EVEN))
    write(tmp_path / "b.csv", rows([1000.0 * t for t in EVEN]))
    with pytest.raises(DataError, match="1000 times as much: does one file count milliseconds"):
        read(str(tmp_path / "*.csv"), time="t", **COLUMNS)


@pytest.mark.parametrize("times", [LOST, [*EVEN[:6], *EVEN[:6]]], ids=["rows lost", "two records in one file"])
@pytest.mark.parametrize("name", ["t", "Time [s]", "timestamp"])
def test_uneven_rows_are_not_read_as_even(tmp_path: Path, times: list[float], name: str):
    path = write(tmp_path / "a.csv", rows(times), header=f"{name},u,y")
    with pytest.raises(DataError, match="rows are taken as evenly spaced") as caught:
        read(path, **COLUMNS)
    assert f"--time '{name}'" in str(caught.value)
    assert "--dt" in str(caught.value)


def test_uneven_rows_are_not_read_as_even_from_archives_and_frames(tmp_path: Path):
    pandas = pytest.importorskip("pandas")
    columns = {"u": np.arange(10.0) % 3, "y": np.arange(10.0)}
    np.savez(tmp_path / "a.npz", t=LOST, **columns)
    frame = pandas.DataFrame(columns, index=pandas.to_datetime([f"2024-01-31 12:00:{round(10 * t):02d}" for t in LOST]))
    for source in (tmp_path / "a.npz", pandas.DataFrame({"time": LOST, **columns}), frame):
        with pytest.raises(DataError, match="rows are taken as evenly spaced"):
            read(source, **COLUMNS)
    # Named as a column, the index is the time.
    assert from_dataframe(frame, time="index", resample=1.0, **COLUMNS).dt == 1.0


def test_a_step_that_is_given_is_believed_but_a_clock_that_contradicts_it_is_named(tmp_path: Path, caplog):
    write(tmp_path / "a.csv", rows(EVEN))
    write(tmp_path / "b.csv", rows(LOST))
    with caplog.at_level(logging.WARNING, "gpssm"):
        read(tmp_path / "a.csv", dt=0.1, **COLUMNS)
        assert not caplog.messages
        read(tmp_path / "a.csv", dt=100.0, **COLUMNS)
        assert "rows are taken as steps of 100, but column 't' advances by 0.1" in caplog.messages[-1]
        read(tmp_path / "b.csv", dt=0.1, **COLUMNS)
        assert "from line 6 to line 7 the time advances by 0.3" in caplog.messages[-1]


def test_a_column_called_t_may_hold_temperatures(tmp_path: Path):
    path = write(tmp_path / "a.csv", rows([20.0 + np.sin(i) for i in range(12)]))
    assert len(read(path, **COLUMNS)[0]) == 12


def test_a_clock_of_another_length_in_an_archive_is_none_of_these_rows(tmp_path: Path):
    np.savez(tmp_path / "a.npz", t=LOST, u=np.arange(12.0) % 3, y=np.arange(12.0))
    assert len(read(tmp_path / "a.npz", **COLUMNS)[0]) == 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time_unit": "ms"}, "needs the column of time stamps"),
        ({"drop_repeats": True}, "needs the column of time stamps"),
        ({"time": "t", "time_unit": "year"}, "it is one of s, ms, us, ns, min, h"),
        ({"skip_rows": -1}, "how many rows of words"),
        ({"skip_rows": True}, "how many rows of words"),
        ({"offsets": {"z": 1.0}}, "'z', which is no channel"),
        ({"offsets": {"y": float("nan")}}, "finite"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_meant_are_refused(tmp_path: Path, change: dict, message: str):
    with pytest.raises(DataError, match=message):
        read(write(tmp_path / "a.csv", rows(EVEN)), **COLUMNS, **change)


def test_uneven_coordinates_of_an_xarray_are_not_read_as_even():
    xarray = pytest.importorskip("xarray")
    values = {"u": ("time", np.arange(10.0) % 3), "y": ("time", np.arange(10.0))}
    with pytest.raises(DataError, match="rows are taken as evenly spaced"):
        read(xarray.Dataset(values, coords={"time": LOST}), **COLUMNS)
    assert len(read(xarray.Dataset(values, coords={"time": EVEN[:10]}), **COLUMNS)[0]) == 10


def test_any_column_of_dates_is_a_clock(tmp_path: Path):
    lines = [f"2024-01-31 12:00:{i:02d},{i % 3},{i}" for i in range(12) if i not in (5, 6)]
    with pytest.raises(DataError, match="rows are taken as evenly spaced, but column 'logged at'"):
        read(write(tmp_path / "a.csv", lines, header="logged at,u,y"), **COLUMNS)
