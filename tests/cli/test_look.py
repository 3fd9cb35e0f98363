"""`gpssm check` without columns lists what the files hold; several names may follow a flag."""

import json
from pathlib import Path

import numpy as np
import pytest

from gpssm.cli import main
from tests.cli.malformed import record
from tests.cli.records import run


def test_check_without_columns_lists_what_it_sees(tmp_path: Path, monkeypatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("t [s],torque [Nm],note,angle\n0.0,1,x,2\n0.1,2,y,\n0.2,1,z,4\n0.3,0,z,5\n")
    assert main(["check", "a.csv"]) == 0
    said = capsys.readouterr().out
    for words in ("a.csv: 4 rows", "t [s]", "Nm", "time, it seems", "words", "numbers"):
        assert words in said
    assert "gpssm check a.csv --outputs angle --inputs 'torque [Nm]' --time 't [s]'" in said
    told = run(capsys, "check", "a.csv")
    (file,) = told["files"]
    assert [(c["name"], c["kind"], c["time"]) for c in file["columns"]] == [
        ("t [s]", "numbers", True),
        ("torque [Nm]", "numbers", False),
        ("note", "words", False),
        ("angle", "numbers", False),
    ]
    assert [c["missing"] for c in file["columns"]] == [0, 0, 0, 1]
    # What is proposed can be typed.
    words = ["check", "a.csv", "--outputs", "angle", "--inputs", "torque [Nm]", "--time", "t [s]"]
    checked = run(capsys, *words, code=3)
    assert checked["dt"] == 0.1
    # A model cannot be fitted to three measurements.
    assert [finding["message"] for finding in checked["findings"] if finding["serious"]] == [
        "have 3 measured rows in all"
    ]


def test_a_file_that_cannot_be_read_says_why_and_the_others_are_listed(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(record())
    Path("b.csv").write_text("t,u,y\ns,V,m\n" + record().partition("\n")[2])
    np.savez("c.npz", u=np.arange(5.0), y=np.ones((5, 2)))
    told = run(capsys, "check", "a.csv", "b.csv", "c.npz", code=3)
    a, b, c = told["files"]
    assert (a["fault"], a["rows"]) == (None, 20)
    assert "--skip-rows 1" in b["fault"]
    assert [column["kind"] for column in c["columns"]] == ["numbers", "is a matrix; ask for its columns, y0 to y1"]
    assert run(capsys, "check", "b.csv", "--skip-rows", "1")["files"][0]["columns"][2]["unit"] == "m"


@pytest.mark.parametrize(
    "words",
    [
        ("two.csv", "--outputs", "y", "z", "--inputs", "u"),
        ("two.csv", "--outputs", "y,z", "--inputs", "u"),
        ("two.csv", "--outputs", "y", "--outputs", "z", "--inputs", "u"),
        ("--inputs", "u", "--outputs", "y", "z", "two.csv"),
        ("--outputs", "y", "z", "--inputs", "u", "two.csv"),
    ],
    ids=" ".join,
)
def test_two_names_are_two_outputs(words: tuple[str, ...], tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 3},{(5 * i) % 7},{(3 * i) % 11}" for i in range(40)]
    Path("two.csv").write_text("\n".join(["u,y,z", *rows]) + "\n")
    assert main(["check", *words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(c["name"], c["role"]) for c in told["channels"]] == [("y", "output"), ("z", "output"), ("u", "input")]


def test_all_faults_are_told_on_the_command_line_with_flags_that_it_takes(tmp_path: Path, monkeypatch, capsys):
    """Every flag that a complaint names is known to every command that reads records."""
    monkeypatch.chdir(tmp_path)
    lines = record(rows=40).splitlines()
    Path("a.csv").write_text("\n".join([*lines[:10], lines[9], *lines[10:20], *lines[22:]]) + "\n")
    lines[5] = lines[5].replace(",", ",,", 1).rpartition(",")[0]
    Path("b.csv").write_text("\n".join(lines) + "\n")
    told = run(capsys, "check", "a.csv", "b.csv", "--outputs", "y", "--inputs", "u", "--time", "t", code=3)["error"]
    assert told.startswith("3 faults:")
    flags = ("--drop-repeats", "--resample", "--hold-inputs")
    assert all(flag in told for flag in flags)
    mended = ("--drop-repeats", "--resample", "0.1", "--hold-inputs")
    words = ("a.csv", "b.csv", "--outputs", "y", "--inputs", "u", "--time", "t", *mended)
    assert run(capsys, "check", *words)["dt"] == 0.1
    for command in ("fit", "compare", "predict", "report", "smooth", "forecast", "simulate"):
        assert main([command, "--help"]) == 0
        said = capsys.readouterr().out
        assert all(flag in said for flag in (*flags, "--skip-rows", "--time-unit", "--time", "--dt", "--offset"))
