"""Good records come out as they went in, whatever the door."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpssm
from gpssm.readers import (
    CsvFormat,
    examine,
    from_benchmark,
    from_dataframe,
    from_pairs,
    from_xarray,
    read,
    read_csv,
    read_inputs,
    read_mat,
    read_npz,
    read_parquet,
)

U = np.round(np.sin(np.arange(30.0)), 6)
Y = np.where(np.arange(30) % 7 == 3, np.nan, np.round(np.cos(np.arange(30.0)), 6))
T = 5.0 + 0.1 * np.arange(30)


def write(path: Path, *, sep: str = ",", decimal: str = ".", start: int = 0) -> Path:
    rows = [f"t{sep}u{sep}y{sep}note"]
    for t, u, y in zip(T[start:], U[start:], Y[start:], strict=True):
        cells = [f"{t:.1f}", f"{u:.6f}", "" if np.isnan(y) else f"{y:.6f}"]
        rows.append(sep.join([cell.replace(".", decimal) for cell in cells] + ["free text"]))
    path.write_text("\n".join(rows) + "\n")
    return path


def same(episode: gpssm.Episode, start: int = 0) -> None:
    np.testing.assert_allclose(episode.u[:, 0], U[start:], atol=1e-12)
    np.testing.assert_array_equal(episode.observed[:, 0], ~np.isnan(Y[start:]))
    np.testing.assert_allclose(episode.y_with_nan[:, 0], Y[start:], atol=1e-12)


@pytest.mark.parametrize(("sep", "decimal"), [(",", "."), (";", "."), ("\t", "."), (";", ","), ("\t", ",")])
def test_csv_dialects(tmp_path: Path, sep: str, decimal: str):
    path = write(tmp_path / "a.csv", sep=sep, decimal=decimal)
    episodes = read_csv(path, outputs="y", inputs="u", time="t", decimal=decimal)
    same(episodes[0])
    assert episodes.dt == pytest.approx(0.1)
    assert (episodes.output_names, episodes.input_names) == (("y",), ("u",))


def test_a_single_column_may_have_blanks_in_its_name(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("speed [m / s]\n1.0\n2.0\n3.0\n")
    assert read(path, outputs="speed [m / s]", dt=1.0)[0].y[:, 0].tolist() == [1.0, 2.0, 3.0]


def test_several_files_are_several_records_of_any_length(tmp_path: Path):
    write(tmp_path / "a.csv")
    write(tmp_path / "b.csv", start=12)
    for paths in (str(tmp_path / "*.csv"), [tmp_path / "a.csv", tmp_path / "b.csv"]):
        episodes = read(paths, outputs="y", inputs="u", time="t")
        assert [len(episode) for episode in episodes] == [30, 18]
        same(episodes[0])
        same(episodes[1], start=12)


def test_other_doors(tmp_path: Path):
    import pandas as pd
    import polars as pl
    import xarray as xr
    from scipy.io import savemat

    columns = {"u": U, "y": Y, "t": T}
    np.savez(tmp_path / "a.npz", **columns)
    savemat(tmp_path / "a.mat", columns)
    pl.DataFrame(columns).write_parquet(tmp_path / "a.parquet")
    pick = {"outputs": "y", "inputs": "u", "time": "t"}
    for episodes in (
        read_npz(tmp_path / "a.npz", **pick),
        read_mat(tmp_path / "a.mat", **pick),
        read_parquet(tmp_path / "a.parquet", **pick),
        read([tmp_path / "a.npz"], **pick),
        from_dataframe(pd.DataFrame(columns), **pick),
        from_dataframe(pl.DataFrame(columns), **pick),
        from_xarray(xr.Dataset({k: ("step", v) for k, v in columns.items()}), **pick),
    ):
        same(episodes[0])
        assert episodes.dt == pytest.approx(0.1)
    same(from_pairs([(U, Y)])[0])


@dataclass
class Record:
    """What a record of `nonlinear_benchmarks` looks like."""

    u: np.ndarray
    y: np.ndarray
    sampling_time: float | None = 0.1
    name: str | None = "rig"


def test_one_door_for_whatever_holds_records(tmp_path: Path):
    """`read` tells by itself what it was given."""
    import pandas as pd
    import polars as pl
    import xarray as xr

    columns = {"u": U, "y": Y}
    np.savez(tmp_path / "a.npz", **columns)
    named = {"outputs": "y", "inputs": "u", "dt": 0.1}
    with_names = (
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        xr.Dataset({name: ("step", values) for name, values in columns.items()}),
        tmp_path / "a.npz",
        str(tmp_path / "*.npz"),
        [tmp_path / "a.npz"],
        [(U, Y)],
    )
    for source in with_names:
        episodes = read(source, **named)
        same(episodes[0])
        assert (episodes.dt, episodes.output_names, episodes.input_names) == (0.1, ("y",), ("u",))
    for source in (Record(U, Y), [Record(U, Y)]):
        episodes = read(source)
        same(episodes[0])
        assert (episodes.dt, episodes[0].name) == (0.1, "rig")
    assert read(episodes) is episodes


def test_pairs_get_the_names_that_are_given():
    episodes = read([(U, Y), (U, Y)], outputs="level", inputs=["valve"])
    assert (len(episodes), episodes.output_names, episodes.input_names) == (2, ("level",), ("valve",))
    assert read([(U, Y)]).output_names == ("y0",)


def test_columns_must_be_named_where_there_are_columns(tmp_path: Path):
    for source in (tmp_path / "a.csv", [tmp_path / "a.csv"], 3):
        with pytest.raises(gpssm.DataError, match="say which columns were measured"):
            read(source)


def test_matrices_in_archives_are_asked_for_by_column(tmp_path: Path):
    np.savez(tmp_path / "a.npz", u=U, y=np.stack([Y, U], axis=1))
    episodes = read_npz(tmp_path / "a.npz", outputs=["y0", "y1"], inputs="u")
    np.testing.assert_allclose(episodes[0].y_with_nan, np.stack([Y, U], axis=1))


def test_benchmark_records(tmp_path: Path):
    benchmarks = pytest.importorskip("nonlinear_benchmarks", reason="nonlinear_benchmarks is not installed")
    record = benchmarks.Input_output_data(u=U, y=Y, sampling_time=0.1, name="rig")
    episodes = from_benchmark([record, record])
    same(episodes[1])
    assert (episodes.dt, episodes[0].name) == (0.1, "rig")


def test_episode_column_splits(tmp_path: Path):
    rows = "".join(f"{'first' if i < 12 else 'second'},{U[i]},{i}\n" for i in range(30))
    (tmp_path / "a.csv").write_text("run,u,y\n" + rows)
    episodes = read(tmp_path / "a.csv", outputs="y", inputs="u", episode="run", dt=0.5)
    assert [len(episode) for episode in episodes] == [12, 18]
    np.testing.assert_array_equal(episodes[1].y[:, 0], np.arange(12.0, 30.0))
    assert "run=second" in episodes[1].name


def test_rectangular_xarray_records_lose_their_padding():
    import xarray as xr

    y = np.stack([Y, np.where(np.arange(30) < 20, np.arange(30.0), np.nan)])
    data = xr.Dataset({"u": (("run", "t"), np.stack([U, U])), "y": (("run", "t"), y)})
    episodes = from_xarray(data, outputs="y", inputs="u", episode="run")
    assert [len(episode) for episode in episodes] == [30, 20]


def test_dates_give_seconds(tmp_path: Path):
    rows = "".join(f"2024-01-31 23:59:{50 + i / 2:04.1f},{i % 3},{i % 5}\n" for i in range(10))
    (tmp_path / "a.csv").write_text("t,u,y\n" + rows)
    assert read(tmp_path / "a.csv", outputs="y", inputs="u", time="t").dt == pytest.approx(0.5)


def test_resampling_fills_a_gap_with_missing_outputs_and_held_inputs(tmp_path: Path):
    kept = [i for i in range(20) if i not in (8, 9, 10)]
    (tmp_path / "a.csv").write_text("t,u,y\n" + "".join(f"{i / 10:.1f},{i},{2 * i}\n" for i in kept))
    episode = read(tmp_path / "a.csv", outputs="y", inputs="u", time="t", resample=0.1)[0]
    assert len(episode) == 20
    np.testing.assert_array_equal(np.flatnonzero(~episode.observed[:, 0]), [8, 9, 10])
    np.testing.assert_allclose(episode.u[8:11, 0], 7.0)
    np.testing.assert_allclose(episode.y[11:, 0], 2.0 * np.arange(11, 20), atol=1e-9)


def test_lines_end_with_a_delimiter_and_comments_lead(tmp_path: Path):
    (tmp_path / "a.csv").write_text("# rig 3\n# noon\nu,y\n" + "".join(f"{i % 4},{i},\n" for i in range(9)) + "\n")
    np.testing.assert_array_equal(read(tmp_path / "a.csv", outputs="y")[0].y[:, 0], np.arange(9.0))


def test_inputs_alone(tmp_path: Path):
    path = write(tmp_path / "a.csv", sep=";", decimal=",")
    future = read_inputs(path, inputs="u", time="t", style=CsvFormat(decimal=","))
    np.testing.assert_allclose(future[:, 0], U)


@settings(deadline=None)
@given(st.lists(st.floats(-1e90, 1e90, allow_subnormal=False), min_size=2, max_size=20))
def test_numbers_survive_text(tmp_path_factory: pytest.TempPathFactory, values: list[float]):
    path = tmp_path_factory.mktemp("numbers") / "a.csv"
    path.write_text("y\n" + "".join(f"{value!r}\n" for value in values))
    np.testing.assert_array_equal(read(path, outputs="y")[0].y[:, 0], values)


def test_examination_finds_gaps_clipping_and_outliers():
    y = np.sin(np.arange(300) / 5.0)
    clipped = np.minimum(y, 0.7)
    wild = np.where(np.arange(300) == 50, 9999.0, y)
    gaps = np.where((np.arange(300) > 9) & (np.arange(300) < 15), np.nan, y + 0.1 * np.cos(np.arange(300)))
    found = examine(gpssm.Episodes.from_arrays(y=np.stack([clipped, wild, gaps], 1), output_names=["c", "w", "g"]))
    told = {(finding.channel, finding.message) for finding in found.findings}
    assert any("'c'" in channel and "clipped" in message for channel, message in told)
    assert any("'w'" in channel and "9999" in message for channel, message in told)
    assert any("'g'" in channel and "at most 5 in a row, from row 11" in message for channel, message in told)
    assert found.fit_for_learning
    assert [channel.missing for channel in found.channels] == [0, 0, 5]
