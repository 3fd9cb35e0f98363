"""How a fit ends decides the exit code, and only that: what its stages went through on the way does not."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import gpssm
from gpssm.cli import _learn, _run_fit, _states, main
from gpssm.fitting import Result
from tests.cli.records import run, write_record, write_runs

COLUMNS = ("--outputs", "y", "--inputs", "u", "--dt", "0.1")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ending(monkeypatch):
    """Let the next fit end in a certain way."""

    def end(result: Result, *events: str) -> None:
        def fit(data, method, **options):
            made = gpssm.fit(data, method, **options | {"checkpoints": None})
            for event in events:
                made = made.with_event(event)
            return made.ended(result)

        monkeypatch.setattr(_learn, "fit", fit)

    return end


@pytest.fixture
def words(tmp_path: Path) -> tuple[object, ...]:
    files, _ = write_runs(tmp_path)
    return ("fit", *files, *COLUMNS, "--method", "arx", "--no-report", "-o", tmp_path / "m.gpssm")


@pytest.mark.parametrize("result", [Result.finished, Result.converged, Result.plateau])
def test_good_ends(result, ending, words, tmp_path: Path, capsys):
    # Adam diverged, and the search that followed converged.
    ending(result, f"Adam: {Result.diverged.value}", f"L-BFGS: {Result.interrupted.value}")
    assert run(capsys, *words)["result"] == result.name
    assert (tmp_path / "m.gpssm").exists()
    assert not (tmp_path / "m.gpssm.checkpoints").exists()


def test_a_fit_that_diverged_is_kept_under_another_name(ending, words, tmp_path: Path, capsys):
    ending(Result.diverged)
    told = run(capsys, *words, code=4)
    assert told["model"] == str(tmp_path / "m.diverged.gpssm")
    assert Path(told["model"]).exists()
    assert not (tmp_path / "m.gpssm").exists()
    assert main([*map(str, words)]) == 4
    assert "Training diverged." in capsys.readouterr().err


def test_an_interrupted_fit_is_saved_as_it_stands(ending, words, tmp_path: Path, capsys):
    ending(Result.interrupted)
    told = run(capsys, *words, code=6)
    assert told["interrupted"] is True
    assert told["checkpoint"] is False
    assert (tmp_path / "m.gpssm").exists()


def test_interrupted_before_there_was_a_model(words, tmp_path: Path, monkeypatch, capsys):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(_learn, "fit", interrupted)
    assert "interrupted" in run(capsys, *words, code=130)["error"]
    assert main([*map(str, words)]) == 130
    assert "interrupted before there was anything to save" in capsys.readouterr().err
    assert not (tmp_path / "m.gpssm").exists()
    assert not (tmp_path / "m.gpssm.checkpoints").exists()


@pytest.mark.system
def test_a_comparison_of_states_that_is_interrupted_goes_on(tmp_path: Path, monkeypatch, capsys):
    path = write_record(tmp_path / "a.csv", 60, 0)
    words = ("fit", path, *COLUMNS, "--method", "linear", "--states", "1:2", "--no-report", "-o")
    unbroken = run(capsys, *words, tmp_path / "whole.gpssm")
    compare, fits = _states.select, []

    def interrupted(*args, **options):
        fits.append(1)
        found = compare(*args, **options)
        return replace(found, interrupted=True) if len(fits) == 1 else found

    monkeypatch.setattr(_states, "select", interrupted)
    told = run(capsys, *words, tmp_path / "m.gpssm", code=6)
    assert told["checkpoint"] is True and "model" not in told
    assert not (tmp_path / "m.gpssm").exists()
    assert run(capsys, *words, tmp_path / "m.gpssm", code=2)["error"].count("--resume") == 1
    resumed = run(capsys, *words, tmp_path / "m.gpssm", "--resume")
    assert resumed["candidates"] == unbroken["candidates"]
    assert resumed["bound_per_step"] == unbroken["bound_per_step"]
    assert not (tmp_path / "m.gpssm.checkpoints").exists()


def test_no_number_of_states_can_be_fitted(words, tmp_path: Path, capsys):
    # Folds leave four samples to start from, and so many lags need more.
    told = run(capsys, *words, "--states", "8:9", code=4)
    assert "no number of states could be fitted" in told["error"]


def test_a_model_that_cannot_be_judged_is_saved_nevertheless(tmp_path: Path, capsys):
    path = write_record(tmp_path / "a.csv", 40, 0)
    words = ("fit", path, *COLUMNS, "--method", "arx", "--states", "7", "-o", tmp_path / "m.gpssm")
    assert "held_out" not in run(capsys, *words)
    assert main([*map(str, words)]) == 0
    assert "not judged" in capsys.readouterr().err
    assert (tmp_path / "m.gpssm").exists()


def test_nobody_foresaw_this(words, monkeypatch, capsys):
    def broken(*args, **options):
        raise MemoryError("too much")

    monkeypatch.setattr(_run_fit, "learn", broken)
    assert "should not have happened" in run(capsys, *words, code=1)["error"]


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whoever_asks_it_to_end_gets_a_model_and_the_way_to_go_on(number, tmp_path: Path):
    path, log = write_record(tmp_path / "a.csv", 30, 0), tmp_path / "log"
    model = tmp_path / "m.gpssm"
    flags = [
        "--method",
        "polished",
        "--states",
        "1",
        "--inducing",
        "3",
        "--hidden",
        "2",
        "--steps",
        "100000",
        "--holdout",
        "0",
    ]
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "gpssm", "fit", str(path), *COLUMNS, *flags, "-o", str(model)],
            cwd=ROOT,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        until = time.monotonic() + 240
        while "ELBO" not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, "training did not begin"
            time.sleep(0.2)
        process.send_signal(number)
        assert process.wait(timeout=120) == 6, log.read_text()
    finally:
        process.kill()
        process.wait()
    assert model.exists()
    assert "--resume" in log.read_text()
    assert list(Path(f"{model}.checkpoints").glob("*.ckpt"))
