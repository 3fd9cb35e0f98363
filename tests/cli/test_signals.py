"""The command is asked to end by real signals; `tests.faults.signals` does so at forty moments, chosen at random."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpssm.cli._stop import Unfinished
from tests.cli.records import write_record
from tests.faults.signals import COMMAND, DEFAULTS

pytestmark = pytest.mark.system

WORDS = "--outputs y --inputs u --dt 0.1 --method polished --states 1 --inducing 3 --hidden 2 --steps 100000 -o m.gpssm"


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    return [*DEFAULTS, COMMAND, "fit", write_record(tmp_path / "a.csv", 60, 0).name, *WORDS.split()]


def _wait_for(happened, process: subprocess.Popen, seconds: float = 240.0) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.timeout(400)
def test_a_closed_terminal_loses_nothing(words, tmp_path):
    """The connection is cut: SIGHUP comes, and every word to the terminal is an error from then on."""
    theirs, ours = pty.openpty()
    process = subprocess.Popen(words, cwd=tmp_path, stdin=ours, stdout=ours, stderr=ours, start_new_session=True)
    os.close(ours)
    seen = b""

    def training() -> bool:
        nonlocal seen
        seen += os.read(theirs, 4096)
        return b"ELBO" in seen

    try:
        _wait_for(training, process)
        os.close(theirs)
        # Not the leader of a session with a terminal, so that the system does not send it by itself.
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=60) == 6
    finally:
        process.kill()
        process.wait()
    assert (tmp_path / "m.gpssm").exists()
    assert list((tmp_path / "m.gpssm.checkpoints").glob("*.ckpt"))


@pytest.mark.timeout(400)
def test_a_burst_of_signals_loses_nothing_either(words, tmp_path):
    """As systemd sends them: SIGTERM and SIGHUP, one after the other, and again."""
    with (tmp_path / "remarks").open("w") as remarks:
        process = subprocess.Popen([*words, "--json"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=remarks)
    try:
        _wait_for(lambda: (tmp_path / "m.gpssm.checkpoints").exists(), process)
        time.sleep(1.0)
        for _ in range(3):
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGHUP)
            time.sleep(0.01)
        told = json.loads(process.communicate(timeout=60)[0])
    finally:
        process.kill()
        process.wait()
    assert told["exit_code"] == process.returncode
    assert process.returncode in (6, 130)
    assert (tmp_path / "remarks").read_text().count("Interrupted") == 1
    assert "Traceback" not in (tmp_path / "remarks").read_text()


@pytest.mark.parametrize(("kept", "code"), [(True, 6), (False, 130)])
@pytest.mark.parametrize("machine", [True, False])
def test_a_process_that_does_not_listen_ends_with_everything_said(kept, code, machine, tmp_path):
    folder = tmp_path / "m.gpssm.checkpoints"
    folder.mkdir()
    (folder / "lock").write_text("1\n")
    if kept:
        (folder / "1.train.ckpt").write_bytes(b"")
    program = f"""
from pathlib import Path
from gpssm.cli._stop import Unfinished
Unfinished(Path({str(folder)!r}), "gpssm fit a.csv -o m.gpssm", {machine}).give_up()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert folder.exists() == kept
    if machine:
        told = json.loads(ended.stdout)
        assert told["exit_code"] == code
        assert told.get("go_on", "").endswith("--resume") == kept
    else:
        assert ("gpssm fit a.csv -o m.gpssm --resume" in ended.stderr) == kept
        assert kept or "before there was anything to save" in ended.stderr


def test_without_a_checkpoint_one_begins_anew(tmp_path):
    assert Unfinished(tmp_path, "gpssm fit", False).go_on == "gpssm fit"
