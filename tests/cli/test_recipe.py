"""Raw files like those of the fit go into every command, and flags win over what the model remembers."""

from pathlib import Path

import numpy as np
import pytest

import gpssm
from gpssm.cli import main
from tests.cli.records import run

OFFSET = 300.0
READING = (
    *("--outputs", "temperature", "--inputs", "heater", "--time", "t", "--time-unit", "ms", "--resample", "0.1"),
    *("--skip-rows", "1", "--hold-inputs", "--drop-repeats", "--decimal", ",", "--offset", f"temperature={OFFSET}"),
)
COMMANDS = {
    "compare": ("--data",),
    "predict": ("-o", "out.csv", "--data"),
    "forecast": ("-o", "out.csv", "--inputs", "a.csv", "--data"),
    "simulate": ("-o", "out.csv", "--inputs"),
    "report": ("-o", "out.html", "--data"),
}


def raw(path: Path, seed: int, rows: int = 60) -> Path:
    """A log with uneven stamps in milliseconds, one of them twice, a missing input, units, and decimal commas."""
    rng = np.random.default_rng(seed)
    stamps = np.round(100.0 * np.arange(rows) + rng.uniform(-20.0, 20.0, rows))
    stamps[11] = stamps[10]
    lines, value = ["t;heater;temperature", "ms;kW;K"], 0.0
    heater = 0.0
    for i, stamp in enumerate(stamps):
        heater = rng.uniform(-1.0, 1.0) if i % 8 == 0 else heater
        shown = "" if i == 20 else f"{heater:.4f}"
        lines.append(f"{stamp:.0f};{shown};{OFFSET + value:.4f}".replace(".", ","))
        value = 0.8 * value + heater
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two raw files and a cheap model that was fitted to the first."""
    folder = tmp_path_factory.mktemp("raw")
    raw(folder / "a.csv", 0)
    raw(folder / "b.csv", 1)
    episodes = gpssm.read(
        folder / "a.csv",
        outputs="temperature",
        inputs="heater",
        time="t",
        time_unit="ms",
        resample=0.1,
        skip_rows=1,
        hold_inputs=True,
        drop_repeats=True,
        offsets={"temperature": OFFSET},
        style=gpssm.readers.CsvFormat(decimal=","),
    )
    gpssm.save(gpssm.fit(episodes, gpssm.Constant(), progress=gpssm.Silent()), folder / "m.gpssm")
    return folder


@pytest.mark.parametrize(
    "command", [c if c != "report" else pytest.param(c, marks=pytest.mark.system) for c in COMMANDS]
)
def test_every_command_takes_raw_files(command: str, folder: Path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    told = run(capsys, command, "m.gpssm", *COMMANDS[command], "b.csv")
    assert told["overrides"] == []


def test_what_was_subtracted_is_added_to_tables(folder: Path, monkeypatch, capsys):
    """Predictions compare with the raw file, not with what was made of it."""
    monkeypatch.chdir(folder)
    run(capsys, "predict", "m.gpssm", "--data", "b.csv", "-o", "ahead.csv")
    table = np.genfromtxt("ahead.csv", delimiter=",", names=True)
    predicted = gpssm.load("m.gpssm").read("b.csv")[0]
    assert abs(table["temperature_mean"].mean() - OFFSET) < 2.0
    assert abs(predicted.y.mean()) < 2.0
    assert table["temperature_sd"].max() < 5.0


def test_flags_win_and_a_sentence_says_so(folder: Path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    words = ("predict", "m.gpssm", "--data", "b.csv", "-o", "out.csv")
    assert main([*words, "--dt", "0.1"]) == 0
    said = capsys.readouterr()
    assert "As asked, files are read with time none (the model was fitted with 't')" in said.err
    assert "resample none (the model was fitted with 0.1)" in said.err
    told = run(capsys, *words, "--dt", "0.1")
    assert "dt 0.1 (the model was fitted with none)" in told["overrides"]
    assert run(capsys, *words, "--resample", "0.1")["overrides"] == []
    told = run(capsys, *words, "--no-hold-inputs", code=3)
    assert "column 'heater' (input), line 23" in told["error"]


def test_another_time_step_is_refused_with_a_flag_that_the_command_takes(folder: Path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    words = ("compare", "m.gpssm", "--data", "b.csv")
    assert "--resample 0.1" in run(capsys, *words, "--resample", "0.2", code=3)["error"]
    assert run(capsys, *words, "--resample", "0.1")["overrides"] == []


def test_a_file_in_other_units_is_refused(folder: Path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    Path("c.csv").write_text(Path("b.csv").read_text().replace("ms;kW;K", "ms;W;K"))
    told = run(capsys, "compare", "m.gpssm", "--data", "c.csv", code=3)
    assert "c.csv: column 'heater' is in W, but in the records of the fit it is in kW" in told["error"]


def test_models_of_differently_prepared_records_are_not_compared(folder: Path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    recipe = gpssm.load("m.gpssm").recipe
    other = gpssm.read("a.csv", recipe=recipe, offsets={})
    gpssm.save(gpssm.fit(other, gpssm.Constant(), progress=gpssm.Silent()), "plain.gpssm")
    told = run(capsys, "compare", "m.gpssm", "plain.gpssm", "--data", "b.csv", code=3)
    assert "plain.gpssm was fitted to records read with offsets none" in told["error"]
    # Told how to read them, they are.
    run(capsys, "compare", "m.gpssm", "plain.gpssm", "--data", "b.csv", "--offset", "temperature=0")


def test_python_takes_raw_files_too(folder: Path):
    model = gpssm.load(folder / "m.gpssm")
    by_file = gpssm.judge(model, folder / "b.csv").free_run
    by_hand = gpssm.judge(model, model.read(folder / "b.csv")).free_run
    assert by_file.facts() == by_hand.facts()
    compared = gpssm.compare({"a": model, "b": model}, str(folder / "b.csv"))
    assert compared.entries[0].free_run.facts() == by_hand.facts()


def test_models_without_a_recipe_read_plain_columns(tmp_path: Path, monkeypatch, capsys):
    """As all models did that were saved before there were recipes."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    episodes = gpssm.Episodes.from_arrays(y=rng.standard_normal(30), output_names=["y"], dt=0.1)
    gpssm.save(gpssm.fit(episodes, gpssm.Constant(), progress=gpssm.Silent()), "m.gpssm")
    assert gpssm.load("m.gpssm").recipe is None
    Path("a.csv").write_text("t;y\n" + "".join(f"{100 * i};{i % 5}\n" for i in range(30)))
    words = ("compare", "m.gpssm", "--data", "a.csv")
    run(capsys, *words, "--time", "t", "--time-unit", "ms")
    assert "but the model was fitted to 0.1" in run(capsys, *words, "--time", "t", code=3)["error"]


@pytest.mark.system
def test_from_raw_files_to_states(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    files = [str(raw(tmp_path / f"run{i}.csv", i, 80)) for i in range(3)]
    run(capsys, "fit", *files[:2], *READING, "--method", "linear", "--states", "1", "-o", "m.gpssm", "--no-report")
    told = run(capsys, "info", "m.gpssm")
    assert told["recipe"]["offsets"] == {"temperature": OFFSET}
    assert told["units"] == {"temperature": "K", "heater": "kW"}
    run(capsys, "smooth", "m.gpssm", "--data", files[2], "-o", "states.csv")
    table = np.genfromtxt("states.csv", delimiter=",", names=True)
    # The smoothed outputs follow the raw ones.
    measured = gpssm.load("m.gpssm").read(files[2])[0]
    known = measured.observed[:, 0]
    np.testing.assert_allclose(table["temperature_mean"][known], measured.y[known, 0] + OFFSET, atol=0.5)
    scored = run(capsys, "compare", "m.gpssm", "--data", files[2])
    assert scored["scores"][0]["free_run"]["fit_percent"] > 60.0
