"""Folders and disks that refuse: a StorageError that says what to do, and the old file intact."""

import errno
import os
import resource
import stat
import struct
from pathlib import Path

import numpy as np
import pytest

import gpssm
from gpssm.files import _atomic
from tests.faults.damage import good
from tests.faults.disk import CALLS, faulty_disk
from tests.reference.stored_systems import system


@pytest.fixture(scope="module")
def saved() -> gpssm.System:
    return system(network=False)


def test_a_missing_folder(tmp_path, saved):
    with pytest.raises(gpssm.files.StorageError, match="create the folder first") as caught:
        gpssm.save(saved, tmp_path / "nowhere" / "m.gpssm")
    assert caught.value.errno == errno.ENOENT


def test_a_missing_file(tmp_path):
    for read in (gpssm.load, gpssm.describe):
        with pytest.raises(gpssm.files.StorageError, match="does not exist"):
            read(tmp_path / "m.gpssm")


def test_a_folder_in_place_of_a_file(tmp_path, saved):
    with pytest.raises(gpssm.files.StorageError, match="name a file"):
        gpssm.save(saved, tmp_path)
    with pytest.raises(gpssm.files.StorageError, match="folder"):
        gpssm.load(tmp_path)


def test_a_device_in_place_of_a_file(saved):
    with pytest.raises(gpssm.files.StorageError, match="device"):
        gpssm.save(saved, "/dev/null")
    assert not Path("/dev/null").is_file()


def test_a_name_that_is_too_long(tmp_path, saved):
    with pytest.raises(gpssm.files.StorageError, match="shorter"):
        gpssm.save(saved, tmp_path / ("m" * 300))


def test_a_name_that_only_bytes_make_too_long(tmp_path, saved):
    """Sixty letters of four bytes each are a legal name; the temporary one beside it must be legal as well."""
    name = "\N{SNOWMAN WITHOUT SNOW}" * 80
    assert len(name.encode()) == 240
    gpssm.save(saved, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_name_with_a_zero_byte(tmp_path, saved):
    for use in (lambda path: gpssm.save(saved, path), gpssm.load, gpssm.describe):
        with pytest.raises(gpssm.files.StorageError, match="zero byte"):
            use(tmp_path / "m\0.gpssm")


def test_a_pipe_is_not_waited_for(tmp_path, saved):
    os.mkfifo(tmp_path / "pipe")
    for use in (gpssm.load, gpssm.describe, lambda path: gpssm.save(saved, path)):
        with pytest.raises(gpssm.files.StorageError, match="device"):
            use(tmp_path / "pipe")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_who_may_read_the_old_file_may_read_the_new_one_and_nobody_else(tmp_path, saved, mode):
    gpssm.save(saved, tmp_path / "m")
    (tmp_path / "m").chmod(mode)
    gpssm.save(saved, tmp_path / "m")
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == mode


def test_not_overwriting(tmp_path, saved):
    (tmp_path / "m").write_text("mine", encoding="utf-8")
    with pytest.raises(gpssm.files.StorageError, match="exists already"):
        gpssm.save(saved, tmp_path / "m", overwrite=False)
    assert (tmp_path / "m").read_text(encoding="utf-8") == "mine"
    gpssm.save(saved, tmp_path / "new", overwrite=False)
    gpssm.save(saved, tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "new").read_bytes()


def test_a_link_keeps_pointing_to_the_file(tmp_path, saved):
    gpssm.save(saved, tmp_path / "m")
    (tmp_path / "link").symlink_to(tmp_path / "m")
    gpssm.save(saved, tmp_path / "link", settings={"second": True})
    assert (tmp_path / "link").is_symlink()
    assert gpssm.describe(tmp_path / "m")["settings"] == {"second": True}


def test_a_limit_of_the_system_met_in_the_middle_of_writing(tmp_path, saved):
    """A true failure of the kernel, not a pretended one: the file may not grow beyond 4096 bytes."""
    gpssm.save(saved, tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    assert len(before) > 4096
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(gpssm.files.StorageError, match="larger than the system allows"):
            gpssm.save(saved, tmp_path / "m")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "m").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("at", range(CALLS))
def test_ctrl_c_at_every_call(tmp_path, at):
    (tmp_path / "m").write_bytes(b"old")

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), faulty_disk(at, interrupt):
        _atomic.write_atomically(tmp_path / "m", b"new")
    assert (tmp_path / "m").read_bytes() == (b"old" if at <= 4 else b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_the_number_of_calls_is_right(tmp_path):
    """Faults after the last call never happen; if they did, the tests of disk faults would leave some call out."""
    with faulty_disk(CALLS, lambda: pytest.fail("there is another call")):
        _atomic.write_atomically(tmp_path / "m", b"new")
    with pytest.raises(ZeroDivisionError), faulty_disk(CALLS - 1, lambda: 1 / 0):
        _atomic.write_atomically(tmp_path / "m", b"new")


def test_short_writes_are_completed(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data)[:7]))
    _atomic.write_atomically(tmp_path / "m", bytes(range(100)))
    monkeypatch.undo()
    assert (tmp_path / "m").read_bytes() == bytes(range(100))


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "cut short"),
        (b"t,u,y\n0,1,2\n", "damaged or not a file"),
        (struct.pack("<Q", 2**40) + b"{}", "cut short"),
        (struct.pack("<Q", 2) + b"{}", "did not write it"),
        (struct.pack("<Q", 2) + b"[]", "not a JSON object"),
        (struct.pack("<Q", 16) + b'{"a":{},"a":{}}' + b" ", "twice"),
        (good()[:-1], "should have"),
        (good()[:-1] + bytes([good()[-1] ^ 1]), "digest"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, data, match):
    (tmp_path / "m").write_bytes(data)
    with pytest.raises(gpssm.FileError, match=match):
        gpssm.load(tmp_path / "m")


def test_a_checkpoint_is_no_model(tmp_path):
    with gpssm.Checkpoints(tmp_path / "c").open({}) as run:
        run.write_end("1-fit", {}, {"a": np.ones(2)})
    with pytest.raises(gpssm.FileError, match="holds a checkpoint"):
        gpssm.load(tmp_path / "c" / "1-fit.ckpt")


def test_the_header_alone_is_enough_to_describe(tmp_path):
    """Damage among the tensors does not keep one from seeing what the file was."""
    data = good()
    Path(tmp_path / "m").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert gpssm.describe(tmp_path / "m")["states"] == "1"
