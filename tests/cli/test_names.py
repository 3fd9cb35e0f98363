"""Names come from users: brackets are units, and control characters must not reach the terminal."""

from pathlib import Path

import pytest

from gpssm.cli import main
from tests.cli.records import run, write_record

UNITS = ("u [m/s]", "rate [/s]")
COLUMNS = ("--inputs", UNITS[0], "--outputs", UNITS[1], "--dt", "1")


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # Short names are not broken over two lines of a table.
    monkeypatch.chdir(tmp_path)
    return write_record(Path("a [bold].csv"), 60, 0, header=",".join(UNITS))


@pytest.mark.system
def test_units_in_brackets_survive_every_command(record: Path, capsys):
    assert main(["check", str(record), *COLUMNS]) == 0
    said = capsys.readouterr().out
    for name in (*UNITS, "a [bold].csv"):
        assert name in said
    model, out = Path("m [red].gpssm"), Path("out [i].csv")
    words = ["fit", str(record), *COLUMNS, "--method", "arx", "--states", "1:2", "--no-report", "-o", str(model)]
    assert main(words) == 0
    said = capsys.readouterr()
    assert f"Saved {model}" in said.out
    assert "a [bold].csv" in said.err, "the record names the folds"
    assert main(["info", str(model)]) == 0
    said = capsys.readouterr().out
    assert "rate [/s]" in said
    assert "m [red].gpssm" in said
    assert main(["predict", str(model), "--data", str(record), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"Wrote {out}" in said
    assert "rate [/s]_mean" in said
    assert main(["compare", str(model), "--data", str(record), "--horizons", "1"]) == 0
    assert "m [red].gpssm" in capsys.readouterr().out


def test_complaints_show_names_as_they_are(record: Path, capsys):
    assert main(["check", str(record), "--outputs", "flow [/min]"]) == 3
    said = capsys.readouterr().err
    assert "flow [/min]" in said
    assert "rate [/s]" in said
    assert "gpssm: " in said


def test_control_characters_are_not_obeyed(tmp_path: Path, capsys):
    path = write_record(tmp_path / "a.csv", 30, 0, header="u,\x1b[31mred")
    assert main(["check", str(path), "--outputs", "\x1b[31mred", "--inputs", "u"]) == 0
    assert main(["check", str(path), "--outputs", "\x1b[32mgreen", "--inputs", "u"]) == 3
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "[31mred" in said.out
    # Machines get what was written.
    assert run(capsys, "check", path, "--outputs", "\x1b[31mred")["channels"][0]["name"] == "\x1b[31mred"


def test_an_output_called_like_a_state_does_not_hide_it():
    import numpy as np

    from gpssm.cli._predictions import state_columns
    from gpssm.data import Recipe
    from gpssm.predict import States

    states = States(np.ones((2, 1)), np.ones((2, 1, 1)), np.full((2, 1), 5.0), np.ones((2, 1)), None)
    columns = state_columns(states, ["state0"], None, Recipe(("state0",)))
    assert columns["state0_mean"][0] == 5.0
    assert columns["hidden_state0_mean"][0] == 1.0


def test_a_spreadsheet_finds_no_formula_in_names(tmp_path: Path):
    import csv

    import numpy as np

    from gpssm.cli._predictions import write_csv

    names = ['=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\tx", "speed [m/s]", "a=b", "\r=1", "a\r=1\n=2"]
    parts = [(record, {name: np.array([-1.5]) for name in names}) for record in ("=1+1", "run 2")]
    write_csv(tmp_path / "a.csv", parts)
    with open(tmp_path / "a.csv", encoding="utf-8", newline="") as file:
        header, first, second = csv.reader(file)
    assert header == ["record", *(f"'{name}" for name in names[:5]), *names[5:7], "' =1", "a =1 =2"]
    assert (first[0], second[0]) == ("'=1+1", "run 2")
    assert first[1:] == ["-1.5"] * len(names), "numbers stay numbers"


def test_a_table_keeps_the_mode_of_the_one_it_replaces(tmp_path: Path):
    import numpy as np

    from gpssm.cli._predictions import write_csv

    for _ in range(2):
        write_csv(tmp_path / "a.csv", [("a", {"y": np.ones(2)})])
        (tmp_path / "a.csv").chmod(0o600)
    write_csv(tmp_path / "a.csv", [("a", {"y": np.ones(2)})])
    assert (tmp_path / "a.csv").stat().st_mode & 0o777 == 0o600


def test_warnings_are_sentences_without_control_characters_and_told_once(tmp_path: Path, monkeypatch, capsys):
    """The log would write them to the terminal as they are."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("t,\x1b[31mu,y\n" + "".join(f"{i},{i % 3},{(5 * i) % 7}\n" for i in range(30)))
    Path("\x1b[31m.csv").write_text(Path("a.csv").read_text())
    words = ["check", "\x1b[31m.csv", "--outputs", "y", "--inputs", "\x1b[31mu", "--dt", "0.5"]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert said.count("rows are taken as steps of 0.5, but column 't' advances by 1") == 1
    assert len(run(capsys, *words)["warnings"]) == 1


def test_progress_does_not_repeat_what_was_logged(capsys):
    import logging

    from gpssm.cli._outcome import side
    from gpssm.cli._progress import shown
    from gpssm.cli._remarks import remarks

    with remarks(json=False), shown(side(json=False)) as progress:
        logging.getLogger("gpssm").warning("column 'y' is constant")
        progress.say("column 'y' is constant")
        progress.say("something else")
    said = capsys.readouterr().err
    assert said.count("column 'y' is constant") == 1
    assert said.count("something else") == 1
