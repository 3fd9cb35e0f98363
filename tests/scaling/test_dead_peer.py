"""`gpssm fit --distributed` when a process dies: the others end soon, say why, and leave something to go on from."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gpssm.files._checkpoints import KIND
from gpssm.files._container import read
from tests.scaling.test_devices import ROOT, free_port

pytestmark = pytest.mark.system

EXIT_PEER_LOST, SOON = 7, 15.0


@pytest.fixture
def records(tmp_path: Path) -> list[str]:
    rng = np.random.default_rng(0)
    for i in range(3):
        table = rng.standard_normal((12, 2))
        np.savetxt(tmp_path / f"run{i}.csv", table, delimiter=",", header="u,y", comments="")
    return [str(tmp_path / f"run{i}.csv") for i in range(3)]


def started(records: list[str], tmp_path: Path, port: int, process: int, **options: object) -> subprocess.Popen[str]:
    settings = {"method": "polished", "states": 1, "inducing": 3, "hidden": 2, "steps": 100_000, "holdout": 0}
    settings |= options
    flags = [word for name, value in settings.items() for word in (f"--{name}", str(value)) if word]
    where = ["--distributed", "--coordinator", f"127.0.0.1:{port}", "--processes", "2", "--process", str(process)]
    log = (tmp_path / f"{process}.log").open("w")
    columns = ["--outputs", "y", "--inputs", "u", "--dt", "1", "-o", str(tmp_path / "m.gpssm")]
    return subprocess.Popen(
        [sys.executable, "-m", "gpssm", "fit", *records, *columns, *flags, *where],
        cwd=ROOT,
        stdout=log,
        stderr=subprocess.STDOUT,
        text=True,
    )


def lose(records: list[str], tmp_path: Path, *, victim: int, by: signal.Signals) -> tuple[int, float, str]:
    """Exit code of the survivor, how long it took to end, and what it said."""
    port = free_port()
    running = [started(records, tmp_path, port, process) for process in range(2)]
    survivor = 1 - victim
    try:
        until = time.monotonic() + 240
        while "ELBO" not in (tmp_path / "0.log").read_text():  # only the first speaks
            assert all(process.poll() is None for process in running), (tmp_path / "0.log").read_text()
            assert time.monotonic() < until, "training did not begin"
            time.sleep(0.2)
        began = time.monotonic()
        running[victim].send_signal(by)
        code = running[survivor].wait(timeout=60)
        return code, time.monotonic() - began, (tmp_path / f"{survivor}.log").read_text()
    finally:
        for process in running:
            process.kill()
            process.wait()


def test_a_dead_process_ends_the_others_and_leaves_a_good_checkpoint(records, tmp_path):
    code, seconds, said = lose(records, tmp_path, victim=1, by=signal.SIGKILL)
    assert code == EXIT_PEER_LOST, said
    assert seconds < SOON
    assert "another process of this fit was lost" in said
    checkpoints = sorted((tmp_path / "m.gpssm.checkpoints").glob("1.train-*.ckpt"))
    header, tensors = read(checkpoints[-1], KIND)
    assert header.content["step"] > 0
    assert all(np.isfinite(tensor).all() for name, tensor in tensors.items() if name.startswith("state"))
    assert not (tmp_path / "m.gpssm").exists()


@pytest.mark.slow
def test_without_the_first_process_the_others_end(records, tmp_path):
    code, seconds, said = lose(records, tmp_path, victim=0, by=signal.SIGKILL)
    assert (code, seconds < SOON) == (EXIT_PEER_LOST, True), said
    assert "another process" in said


@pytest.mark.slow
def test_a_process_that_hangs_is_given_up(records, tmp_path):
    # The command that was started watches over the one that computes, which is the one to stop.
    port = free_port()
    running = [started(records, tmp_path, port, process, patience=5) for process in range(2)]
    worker = None
    try:
        until = time.monotonic() + 240
        while "ELBO" not in (tmp_path / "0.log").read_text():
            assert time.monotonic() < until
            time.sleep(0.2)
        worker = int(Path(f"/proc/{running[1].pid}/task/{running[1].pid}/children").read_text().split()[0])
        os.kill(worker, signal.SIGSTOP)
        began = time.monotonic()
        assert running[0].wait(timeout=60) == EXIT_PEER_LOST
        assert time.monotonic() - began < SOON
    finally:
        for process in running:
            process.kill()
            process.wait()
        if worker is not None:
            os.kill(worker, signal.SIGKILL)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--distributed"], "--distributed needs --coordinator (or the variable GPSSM_FIT_COORDINATOR)"),
        (["--processes", "2"], "it goes with --distributed"),
        (["--distributed", "--coordinator", "here", "--processes", "2", "--process", "0"], "write address and port"),
        (["--distributed", "--coordinator", "h:1", "--processes", "2", "--process", "2"], "numbered from 0"),
    ],
)
def test_what_cannot_work_is_refused(words, complaint, records, tmp_path, capsys):
    from gpssm.cli._main import main

    given = ["fit", *records, "--outputs", "y", "--dt", "1", "-o", str(tmp_path / "m.gpssm"), *words]
    assert main(given) == 2
    assert complaint in " ".join(capsys.readouterr().err.split())
