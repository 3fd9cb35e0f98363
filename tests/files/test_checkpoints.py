"""Checkpoints in a folder: what is kept, what is refused, and what happens when the newest is damaged."""

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm.fitting._identity import describe_fit
from tests.reference.small_system import record, records


def _write(folder: Path, steps: range, *, keep: int = 3, identity: dict[str, str] | None = None) -> None:
    with gpssm.Checkpoints(folder, keep=keep).open(identity or {}) as run:
        for step in steps:
            run.write("1-fit", step, 0, {"step": step}, {"a": np.full(4, float(step))})


def _newest(folder: Path) -> int | None:
    with gpssm.Checkpoints(folder).open({}) as run:
        found = run.newest("1-fit")
    if found is None:
        return None
    content, tensors = found
    assert np.array_equal(tensors["a"], np.full(4, float(content["step"])))
    return content["step"]


def test_the_last_few_are_kept(tmp_path):
    _write(tmp_path / "c", range(0, 1000, 50), keep=2)
    names = sorted(path.name for path in (tmp_path / "c").iterdir())
    assert names == ["1-fit-000000900-000.ckpt", "1-fit-000000950-000.ckpt", "lock"]
    assert _newest(tmp_path / "c") == 950


def test_stages_do_not_mix(tmp_path):
    with gpssm.Checkpoints(tmp_path, keep=1).open({}) as run:
        for stage in ("1-fit", "3-network"):
            run.write(stage, 50, 0, {"stage": stage}, {})
        assert run.newest("1-fit") is not None
        assert run.newest("2-polish") is None
        assert run.finished("1-fit") is None
        run.write_end("1-fit", {"stage": "end"}, {})
        found = run.finished("1-fit")
    assert found is not None and found[0]["stage"] == "end"


def test_a_damaged_one_falls_back_to_the_one_before(tmp_path, caplog):
    _write(tmp_path, range(50, 200, 50))
    newest, middle, oldest = sorted(tmp_path.glob("*.ckpt"), reverse=True)
    for path, rest in ((newest, 100), (middle, 50), (oldest, None)):
        data = bytearray(path.read_bytes())
        data[-3] ^= 16
        path.write_bytes(data)
        with caplog.at_level(logging.WARNING, "gpssm"):
            assert _newest(tmp_path) == rest
        assert path.name in caplog.text and "trying the one before" in caplog.text


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path):
    _write(tmp_path, range(50, 100, 50))
    half, other = tmp_path / ".1-fit-000000100-000.ckpt.0123456789abcdef.tmp", tmp_path / "notes.tmp"
    half.write_bytes(b"half a checkp")
    other.write_bytes(b"of the user")
    assert _newest(tmp_path) == 50
    assert not half.exists() and other.exists()


def test_another_fit_is_refused_and_told_what_differs(tmp_path):
    _write(tmp_path, range(50, 100, 50), identity={"steps": "800", "seed": "0"})
    before = sorted(path.name for path in tmp_path.iterdir())
    with (
        pytest.raises(gpssm.files.ResumeError, match=r"steps \(800 then, 400 now\)\. Go on"),
        gpssm.Checkpoints(tmp_path).open({"steps": "400", "seed": "0"}),
    ):
        pytest.fail("must not be opened")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_fit_names_what_differs_before_it_trains(tmp_path):
    _write(tmp_path, range(50, 100, 50), identity={"states": "2", "version of jax": "0.0.1"})
    with pytest.raises(gpssm.files.ResumeError) as caught:
        gpssm.fit(
            records(),
            gpssm.Polished(1, num_inducing=4, hidden=2),
            progress=gpssm.Silent(),
            checkpoints=gpssm.Checkpoints(tmp_path),
        )
    assert "states (2 then, 1 now)" in str(caught.value)
    assert "version of jax (0.0.1 then" in str(caught.value)


def test_a_fit_is_known_by_its_data_and_seed():
    def fit(**changes):
        options = {"episodes": records(), "held_out": None, "key": jr.key(0), "settings": {"steps": 10}}
        return describe_fit(**(options | changes))

    def changed(**changes) -> set[str]:
        return {name for name, value in fit(**changes).items() if value != fit()[name]}

    assert changed() == set()
    assert changed(episodes=records(missing=0.1)) == {"training data"}
    assert changed(held_out=gpssm.Episodes([record(9, seed=4)])) == {"held-out data"}
    assert changed(key=jr.key(1)) == {"key"}
    assert changed(settings={"steps": 11}) == {"steps"}
    assert {"version of jax", "version of gpssm", "machine"} <= set(fit())


def test_a_second_writer_is_refused(tmp_path):
    with (
        gpssm.Checkpoints(tmp_path).open({}),
        pytest.raises(gpssm.files.StorageError, match=f"in use by process {os.getpid()}"),
        gpssm.Checkpoints(tmp_path).open({}),
    ):
        pytest.fail("must not be opened")
    with gpssm.Checkpoints(tmp_path).open({}):
        assert (tmp_path / "lock").read_text(encoding="ascii") == f"{os.getpid()}\n"


def test_links_in_the_folder_lead_nowhere(tmp_path):
    """In a shared or downloaded folder anybody can put a link under a name that is known beforehand."""
    precious, folder = tmp_path / "precious", tmp_path / "c"
    precious.write_text("of great value", encoding="utf-8")
    folder.mkdir()
    (folder / "lock").symlink_to(precious)
    with pytest.raises(gpssm.files.StorageError, match="symbolic link"), gpssm.Checkpoints(folder).open({}):
        pytest.fail("must not be opened")
    (folder / "lock").unlink()
    (folder / "1-fit-000000050-000.ckpt").symlink_to(precious)
    _write(folder, range(50, 100, 50))
    assert not (folder / "1-fit-000000050-000.ckpt").is_symlink()
    assert _newest(folder) == 50
    assert precious.read_text(encoding="utf-8") == "of great value"


def test_a_lock_that_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "lock")
    with pytest.raises(gpssm.files.StorageError, match="device"), gpssm.Checkpoints(tmp_path).open({}):
        pytest.fail("must not be opened")


def test_a_checkpoint_that_is_a_link_is_not_read(tmp_path, caplog):
    """Whoever can put a link into the folder could have the fit go on from a state of their choice, elsewhere."""
    _write(tmp_path / "c", range(50, 150, 50))
    _write(tmp_path / "other", range(900, 950, 50))
    (tmp_path / "c" / "1-fit-000000900-000.ckpt").symlink_to(tmp_path / "other" / "1-fit-000000900-000.ckpt")
    with caplog.at_level(logging.WARNING, "gpssm"):
        assert _newest(tmp_path / "c") == 100
    assert "symbolic link" in caplog.text


def test_a_pipe_in_place_of_a_checkpoint_is_not_waited_for(tmp_path, caplog):
    _write(tmp_path, range(50, 100, 50))
    os.mkfifo(tmp_path / "1-fit-000000900-000.ckpt")
    with caplog.at_level(logging.WARNING, "gpssm"):
        assert _newest(tmp_path) == 50
    assert "device" in caplog.text


def test_checkpoints_keep_the_mode_of_the_one_they_replace(tmp_path):
    _write(tmp_path, range(50, 100, 50))
    (path,) = tmp_path.glob("*.ckpt")
    path.chmod(0o600)
    _write(tmp_path, range(50, 100, 50))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_with_a_zero_byte_in_its_name(tmp_path):
    with pytest.raises(gpssm.files.StorageError, match="zero byte"), gpssm.Checkpoints(tmp_path / "a\0b").open({}):
        pytest.fail("must not be opened")


HOLD = """
import fcntl, os, sys, time
with open(sys.argv[1], "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print(os.getpid(), file=lock, flush=True)
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path):
    other = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path / "lock"], stdout=subprocess.PIPE, text=True)
    with other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with (
            pytest.raises(gpssm.files.StorageError, match=f"in use by process {other.pid}"),
            gpssm.Checkpoints(tmp_path).open({}),
        ):
            pytest.fail("must not be opened")
        other.kill()
    assert (tmp_path / "lock").read_text(encoding="ascii") == f"{other.pid}\n", "the dead leave their file"
    with gpssm.Checkpoints(tmp_path).open({}):
        assert (tmp_path / "lock").read_text(encoding="ascii") == f"{os.getpid()}\n"


def test_the_folder_above_must_exist(tmp_path):
    with (
        pytest.raises(gpssm.files.StorageError, match="does not exist"),
        gpssm.Checkpoints(tmp_path / "a" / "b").open({}),
    ):
        pytest.fail("must not be opened")


@pytest.mark.parametrize("options", [{"keep": 0}, {"every_seconds": None}])
def test_settings_that_make_no_sense(options):
    with pytest.raises(ValueError, match=r"keep|every_seconds"):
        gpssm.Checkpoints("c", **options)
