"""What people and programs really hand over: frames with odd columns, odd stamps, damaged and hostile files. The right
numbers come out, or a DataError that says where and what to do."""

import io
import logging
import os
import socket
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpssm
from gpssm.data import DataError
from gpssm.readers import _npz, _open, from_dataframe, from_xarray, read, read_csv, read_inputs
from gpssm.readers._read import column_names

Y = np.cos(np.arange(30.0))


@pytest.mark.parametrize("dtype", ["Int64", "Int8", "UInt16", "Float32", "int64[pyarrow]", "double[pyarrow]"])
def test_nullable_numbers_of_pandas_are_numbers(dtype):
    import pandas as pd

    frame = pd.DataFrame({"y": pd.array([1, None, 3] * 10, dtype=dtype), "u": pd.array(range(30), dtype=dtype)})
    (episode,) = from_dataframe(frame, outputs="y", inputs="u")
    np.testing.assert_array_equal(episode.y_with_nan[:, 0], [1.0, np.nan, 3.0] * 10)
    np.testing.assert_array_equal(episode.u[:, 0], np.arange(30.0))


def test_missing_entries_among_objects_are_missing():
    import pandas as pd

    frame = pd.DataFrame({"y": pd.Series([1.5, pd.NA, 3, None] * 5, dtype=object)})
    (episode,) = from_dataframe(frame, outputs="y")
    np.testing.assert_array_equal(episode.y_with_nan[:, 0], [1.5, np.nan, 3.0, np.nan] * 5)


def test_numbered_columns_are_found_by_number():
    import pandas as pd

    frame = pd.DataFrame(np.stack([Y, 2 * Y, 3 * Y], axis=1))
    for outputs, inputs in ((1, 2), ("1", "2"), ([1], [2])):
        (episode,) = from_dataframe(frame, outputs=outputs, inputs=inputs)
        np.testing.assert_array_equal(episode.y[:, 0], 2 * Y)
        np.testing.assert_array_equal(episode.u[:, 0], 3 * Y)
        assert episode.output_names == ("1",)


def test_columns_of_two_levels_are_found_by_their_tuples():
    import pandas as pd

    columns = pd.MultiIndex.from_tuples([("rig", "u"), ("rig", "y"), ("other", "y")])
    frame = pd.DataFrame(np.stack([Y, 2 * Y, 3 * Y], axis=1), columns=columns)
    (episode,) = read(frame, outputs=[("rig", "y")], inputs=[("rig", "u")])
    np.testing.assert_array_equal(episode.y[:, 0], 2 * Y)
    with pytest.raises(DataError, match=r"no column 'y' .* '\('rig', 'y'\)'"):
        from_dataframe(frame, outputs="y")


def test_two_columns_whose_names_print_alike_are_ambiguous():
    import pandas as pd

    with pytest.raises(DataError, match="2 columns are called '0'"):
        from_dataframe(pd.DataFrame({0: Y, "0": 2 * Y}), outputs="0")


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (np.array([["a"] * 20] * 2), "'y' .output. holds entries of type <U1"),
        (np.ones((2, 20)) * 1j, "'y' .output. holds complex numbers"),
        (np.ones((2, 20), dtype=bool), "'y' .output. holds truth values"),
        (np.array([["1", "x"] * 10] * 2, dtype=object), "'y' .output., row 1: 'x' is not a number"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_records_side_by_side_that_are_no_numbers(values, match):
    import xarray as xr

    with pytest.raises(DataError, match=match):
        from_xarray(xr.Dataset({"y": (("run", "t"), values)}), outputs="y", episode="run")


@pytest.mark.skipif(bool(os.environ.get("GPSSM_TEST_SHAPES")), reason="types are checked before the function is called")
@pytest.mark.parametrize("dt", ["0.1", b"1", True, np.True_])
def test_a_time_step_is_a_number(dt):
    import pandas as pd

    with pytest.raises(DataError, match=r"dt is .*not a number"):
        gpssm.Episode(y=Y, dt=dt)
    if not isinstance(dt, np.bool_):
        with pytest.raises(DataError, match=r"dt is .*not a number"):
            from_dataframe(pd.DataFrame({"y": Y}), outputs="y", dt=dt)


@pytest.mark.parametrize(
    ("second", "unit"), [(10**9, "nanoseconds"), (10**6, "microseconds"), (10**3, "milliseconds"), (1, None)]
)
def test_whole_stamps_are_not_rounded_and_their_unit_is_said(tmp_path: Path, caplog, second, unit):
    import pandas as pd
    import polars as pl

    step = max(second // 1000, 1)
    columns = {"t": 1_700_000_000 * second + step * np.arange(30), "y": Y}
    path = tmp_path / "a.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    np.savez(tmp_path / "a.npz", **columns)
    for source in (path, tmp_path / "a.npz", pd.DataFrame(columns), pl.DataFrame(columns)):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "gpssm"):
            assert read(source, outputs="y", time="t").dt == float(step)
        assert (f"count {unit} since 1970" in caplog.text) if unit else not caplog.text


def test_a_repeated_nanosecond_is_found_among_large_stamps(tmp_path: Path):
    stamps = [1_700_000_000_000_000_000 + i for i in (0, 1, 2, 2, 3)]
    (tmp_path / "a.csv").write_text("t,y\n" + "".join(f"{stamp},1.5\n" for stamp in stamps))
    with pytest.raises(DataError, match="line 5: the time repeats"):
        read(tmp_path / "a.csv", outputs="y", time="t")


def test_a_header_of_thousands_of_channels(tmp_path: Path):
    names = [f"channel number {i:06d}" for i in range(8000)]
    (tmp_path / "a.csv").write_text(",".join(names) + "\n" + (",".join(map(str, range(8000))) + "\n") * 3)
    assert read(tmp_path / "a.csv", outputs=names[7])[0].y[:, 0].tolist() == [7.0] * 3


@pytest.mark.parametrize("text", ["a,b\n1," + "x" * 200_000, "a" * 200_000 + ",b\n1,2\n", '"a,b\n' + "1,2\n" * 50_000])
def test_a_cell_beyond_all_measure_is_told_by_its_line(tmp_path: Path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=r"a\.csv, line \d+: .*quotation mark"):
        read(tmp_path / "a.csv", outputs="a")


ENDINGS = ("csv", "npz", "mat", "parquet")


@pytest.mark.parametrize("ending", ENDINGS)
def test_pipes_sockets_and_devices_are_refused_and_not_waited_for(tmp_path: Path, monkeypatch, ending):
    pipe, plug, device = (tmp_path / f"{name}.{ending}" for name in ("pipe", "socket", "device"))
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)  # the names of sockets are short
        server.bind(plug.name)
        for path in (pipe, plug, device):
            with pytest.raises(DataError, match=f"{path.name}: this is a pipe, a socket or a device"):
                read(path, outputs="y")
            with pytest.raises(DataError, match="this is a pipe"):
                column_names(path)
            with pytest.raises(DataError, match="this is a pipe"):
                read_inputs(path, inputs="u")


def test_names_with_a_zero_byte():
    for use in (read, read_csv):
        for paths in ("a\0.csv", ["a\0.csv"]):
            with pytest.raises(DataError, match="zero byte"):
                use(paths, outputs="y")


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ({"value": Y}, "'y' is a structure; store its fields"),
        ("not numbers", "'y' is text"),
        (np.array([1, "a"], dtype=object), "'y' is a cell array"),
    ],
)
def test_what_a_matlab_variable_is_instead_of_numbers(tmp_path: Path, value, match):
    from scipy.io import savemat

    savemat(tmp_path / "a.mat", {"y": value, "u": Y})
    with pytest.raises(DataError, match=rf"a\.mat: variable {match}"):
        read(tmp_path / "a.mat", outputs="y")
    assert len(read(tmp_path / "a.mat", outputs="u")[0]) == 30, "other variables may hold anything"


def _forged(path: Path, header: str, body: bytes = b"0" * 80) -> Path:
    text = header.encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("y.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body)
    return path


@pytest.mark.parametrize("count", [10**12, 3 * 10**9, 2**62])
def test_an_archive_that_claims_more_than_it_holds(tmp_path: Path, count):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},), }}   \n"
    with pytest.raises(DataError, match=r"a\.npz: variable 'y' claims the shape"):
        read(_forged(tmp_path / "a.npz", header), outputs="y")


def test_archives_are_unpacked_only_where_they_are_wanted(tmp_path: Path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", y=Y, other=np.zeros(2**20), m=np.stack([Y, 2 * Y], axis=1))
    monkeypatch.setattr(_open, "MAX_UNPACKED", 10_000)
    read_array, unpacked = _npz.npy.read_array, []
    monkeypatch.setattr(_npz.npy, "read_array", lambda *a, **o: unpacked.append(a) or read_array(*a, **o))
    np.testing.assert_array_equal(read(tmp_path / "a.npz", outputs="y", inputs="m1")[0].u[:, 0], 2 * Y)
    assert len(unpacked) == 2
    with pytest.raises(DataError, match="unpack to 8388736 bytes, more than the 10000 that are read"):
        read(tmp_path / "a.npz", outputs="other")
    assert len(unpacked) == 2


def test_matlab_variables_and_parquet_columns_are_measured_before_they_are_unpacked(tmp_path: Path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq
    from scipy.io import savemat

    savemat(tmp_path / "a.mat", {"y": Y, "other": np.zeros(2**16)}, do_compression=True)
    pq.write_table(pa.table({"y": np.zeros(2**16)}), tmp_path / "a.parquet")
    monkeypatch.setattr(_open, "MAX_UNPACKED", 10_000)
    assert len(read(tmp_path / "a.mat", outputs="y")[0]) == 30
    for path, name in ((tmp_path / "a.mat", "other"), (tmp_path / "a.parquet", "y")):
        with pytest.raises(DataError, match="unpack to 524288 bytes"):
            read(path, outputs=name)


def _sound(ending: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from scipy.io import savemat

    file = io.BytesIO()
    match ending:
        case "npz":
            np.savez_compressed(file, y=Y, u=2 * Y)
        case "mat":
            savemat(file, {"y": Y, "u": 2 * Y}, do_compression=True)
        case "parquet":
            pq.write_table(pa.table({"y": Y, "u": 2 * Y}), file)
        case _:
            file.write(("y,u\n" + "".join(f"{value},{2 * value}\n" for value in Y)).encode())
    return file.getvalue()


@pytest.mark.parametrize("ending", ENDINGS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path_factory, ending, data):
    content = bytearray(_sound(ending))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / f"a.{ending}"
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))] if data.draw(st.booleans()) else content)
    try:
        assert np.isfinite(read(path, outputs="y", inputs="u")[0].y).all()
    except DataError as error:
        assert f"a.{ending}" in str(error)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("version", ["5", "4"])
def test_matlab_files_of_all_versions_and_types(tmp_path: Path, compressed, version):
    """SciPy, which wrote them, reads the same."""
    from scipy.io import loadmat, savemat

    rng = np.random.default_rng(0)
    types = ("f8", "f4", "i4", "i2", "u1") + (("i1", "u2", "u4", "i8", "u8") if version == "5" else ())
    arrays = {f"a_{kind}_": (100 * rng.uniform(0, 1, (30, 3))).astype(kind) for kind in types}
    arrays |= {"s": np.arange(3.0), "row": Y[None], "logical": Y > 0}
    savemat(tmp_path / "a.mat", arrays, format=version, do_compression=compressed and version == "5", oned_as="row")
    assert column_names(tmp_path / "a.mat") == tuple(arrays)
    for name, value in loadmat(tmp_path / "a.mat").items():
        if name.startswith("a_"):
            (episode,) = read(tmp_path / "a.mat", outputs=[f"{name}{i}" for i in range(3)], inputs="row")
            np.testing.assert_array_equal(episode.y, value)
            np.testing.assert_array_equal(episode.u[:, 0], Y)


@pytest.mark.system
def test_damaged_matlab_files_do_not_kill_the_process(tmp_path: Path):
    """A reader in C may: here every byte of a small file is damaged once, in each of three ways."""
    from scipy.io import savemat

    file = io.BytesIO()
    savemat(file, {"y": Y[:5], "u": "text"})
    data, path = file.getvalue(), tmp_path / "a.mat"
    for place in range(128, len(data)):
        for value in (0x00, 0xFF, data[place] ^ 1):
            path.write_bytes(data[:place] + bytes([value]) + data[place + 1 :])
            try:
                assert np.isfinite(read(path, outputs="y")[0].y).all()
            except DataError as error:
                assert "a.mat" in str(error)
