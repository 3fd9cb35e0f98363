"""Commands that need no training: help, check, settings in layers, progress, public records."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import gpssm
from gpssm.cli import main
from gpssm.cli._app import COMMANDS
from gpssm.cli._catalogue import CATALOGUE
from gpssm.cli._fit import _split as split
from gpssm.cli._methods import METHODS
from gpssm.cli._progress import Bars
from gpssm.fitting import Status
from tests.cli.malformed import record

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.system
def test_help_lists_every_command_without_importing_jax():
    code = (
        "import sys; from gpssm.cli import main; code = main(['--help']); "
        "print('heavy:', *sorted({'jax', 'numpy', 'matplotlib'} & set(sys.modules))); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("heavy:"), done.stdout[-300:]
    for command in COMMANDS:
        assert command in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(command: str, capsys: pytest.CaptureFixture[str]):
    words = [command, "fetch", "--help"] if command == "datasets" else [command, "--help"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert f"gpssm {command}" in said.partition("For example")[2]
    assert "--json" in said


def test_help_of_fit_says_what_each_method_is(capsys: pytest.CaptureFixture[str]):
    assert main(["fit", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for name, entry in METHODS.items():
        assert f"{name}: {entry.about}" in said


def test_version(capsys: pytest.CaptureFixture[str]):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == gpssm.__version__


def test_check_tells_people_and_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "a.csv"
    path.write_text(record({5: "0.3,0.2,", 6: "0.4,0.3,"}, rows=40))
    words = ["check", str(path), "--outputs", "y", "--inputs", "u", "--time", "t"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "2 of 40 samples are missing" in said
    assert "Time step: 0.1" in said
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["records"] == [{"name": str(path), "steps": 40, "missing": 2}]
    assert told["fit_for_learning"] is True
    assert [channel["missing"] for channel in told["channels"]] == [2, 0]


def test_flags_win_over_environment_and_environment_over_file(tmp_path: Path, monkeypatch, capsys):
    (tmp_path / "a.csv").write_text(record(header="t,u,y"))
    (tmp_path / "c.toml").write_text('[check]\noutputs = ["y"]\ninputs = ["u"]\ndt = 0.25\n')
    monkeypatch.chdir(tmp_path)

    def step(*words: str) -> float:
        assert main(["check", "a.csv", "--config", "c.toml", "--json", *words]) == 0
        return json.loads(capsys.readouterr().out)["dt"]

    assert step() == 0.25
    monkeypatch.setenv("GPSSM_CHECK_DT", "0.5")
    assert step() == 0.5
    assert step("--dt", "0.75") == 0.75


def test_every_command_has_its_table_in_a_file(tmp_path: Path):
    from gpssm.cli._app import COMMANDS
    from gpssm.cli._config import sources

    (tmp_path / "c.toml").write_text("".join(f"[{command}]\n" for command in COMMANDS))
    assert {"report", "fit", "check"} <= set(COMMANDS)
    assert len(sources(["--config", str(tmp_path / "c.toml")], COMMANDS)) == 3


def test_a_pipe_in_place_of_a_configuration_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    os.mkfifo(tmp_path / "c.toml")
    assert main(["check", "a.csv", "--config", str(tmp_path / "c.toml")]) == 2
    assert "c.toml: the configuration file cannot be read" in capsys.readouterr().err


def test_what_is_held_out():
    long, short = np.arange(50.0), np.arange(10.0)
    few = gpssm.Episodes.from_arrays(y=[long, short])
    train, kept = split(few, None)
    assert [len(e) for e in train] == [40, 10]
    assert kept is not None
    assert [len(e) for e in kept] == [10]
    np.testing.assert_array_equal(kept[0].y[:, 0], long[40:])
    many = gpssm.Episodes.from_arrays(y=[long] * 6)
    train, kept = split(many, None)
    assert (len(train), len(kept or ())) == (5, 1)
    assert split(few, 0.0)[1] is None
    assert [len(e) for e in split(few, 1.0)[0]] == [50]


def test_bars_show_bound_score_and_time_left():
    page = io.StringIO()
    screen = Console(file=page, force_terminal=True, width=160, highlight=False)
    with Bars(screen) as bars:
        bars.update(Status("Adam", 50, 200, 1.25, 10.0, np.ones(1), np.ones(1), held_out=-0.5))
        bars.update(Status("output error", 2, 6, 0.3, 1.0, label="free-run error (scaled)"))
        bars.say("a remark [with brackets]")
    said = page.getvalue()
    for word in ("Adam", "ELBO/step +1.2500", "held out -0.5000", "15 s left", "50/200", "a remark [with brackets]"):
        assert word in said
    for word in ("output error", "free-run error (scaled) +0.3000", "2/6"):
        assert word in said


def test_a_stage_that_begins_anew_has_a_bar_of_its_own():
    page = io.StringIO()
    screen = Console(file=page, force_terminal=True, width=160, highlight=False, color_system=None)
    with Bars(screen) as bars:
        for step in (1, 5, 1, 4):
            bars.update(Status("L-BFGS", step, 5, 0.0, 1.0))
        assert [task.completed for task in bars._progress.tasks] == [4], "what is over does not move any more"
    kept = [line for line in page.getvalue().splitlines() if "5/5" in line or "4/5" in line]
    assert len(kept) == 2 and "5/5" in kept[0] and "4/5" in kept[1]


@pytest.mark.parametrize(
    "entry",
    # The largest record has 131 072 rows.
    [pytest.param(e, marks=pytest.mark.slow if e.name == "silverbox" else (), id=e.name) for e in CATALOGUE],
)
def test_public_records_convert_and_pass_the_check(entry, needs_data: Path, tmp_path: Path, capsys):
    source, target = needs_data / entry.folder / entry.file, tmp_path / "out.csv"
    before = source.read_bytes()
    assert main(["datasets", "convert", entry.name, str(source), "-o", str(target), "--json"]) == 0
    following = json.loads(capsys.readouterr().out)["next"].split()
    assert main([*following[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sum(item["steps"] for item in told["records"]) == len(target.read_text().splitlines()) - 1
    assert source.read_bytes() == before


def test_a_copy_is_found_without_the_network(needs_data: Path, monkeypatch, capsys):
    monkeypatch.setenv("GPSSM_DATA", str(needs_data))
    assert main(["datasets", "fetch", "actuator", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == str(needs_data / "actuator" / "actuator.mat")
    assert main(["datasets", "list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["datasets"]) == len(CATALOGUE)
