"""Every `--method` goes all the way: fitted, saved, used, reported on, compared, and the numbers are the same."""

from pathlib import Path

import numpy as np
import pytest

import gpssm
from gpssm.cli._methods import METHODS, Flags
from tests.cli.records import ROWS, run, small, write_record, write_runs

COLUMNS = ("--outputs", "y", "--inputs", "u", "--dt", "0.1")
STATES = {"polished", "variational", "output-error", "linear"}
"""Methods whose models have hidden states."""
QUICK = {"arx"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("methods")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in METHODS])
def test_every_method_is_fitted_saved_used_reported_and_compared(name: str, folder: Path, capsys):
    files, held_out = write_runs(folder)
    model, out = folder / f"{name}.gpssm", folder / f"{name}.csv"
    told = run(capsys, "fit", *files, *COLUMNS, "--method", name, *small(name), "--seed", "3", "-o", model)
    assert (told["method"], told["seed"]) == (name, 3)
    assert told["states"] == 2 or METHODS[name].chooses
    page = (folder / f"{name}-report.html").read_text(encoding="utf-8")
    numbers = told["held_out"]

    # The same numbers on the console, on the page, by a report of the file and by a comparison.
    assert f"{numbers['rmse']:.4g}" in page
    assert f"{numbers['fit_percent']:.1f} %" in page
    assert told["verdict"] in page
    reported = run(capsys, "report", model, "--data", held_out, "--seed", "3", "-o", folder / "again.html")
    assert reported["free_run"] == numbers
    compared = run(capsys, "compare", model, "--data", held_out, "--seed", "3")
    assert compared["scores"][0]["free_run"] == numbers
    assert set(compared["scores"][0]["horizons"]) == {"1", "5"}, "20 steps do not fit into the record"

    assert run(capsys, "info", model)["settings"]["held_out"] == numbers
    assert run(capsys, "predict", model, "--data", held_out, "--horizon", "2", "-o", out)["rows"] > 0
    future = write_record(folder / "future.csv", 6, 9)
    assert run(capsys, "forecast", model, "--data", held_out, "--inputs", future, "-o", out)["rows"] == 6
    simulated = run(capsys, "simulate", model, "--inputs", held_out, "-o", out)
    assert simulated["rows"] == ROWS - 4, "a fifth of the record is read"
    # What auto has chosen may have states or not.
    code = 0 if name in STATES or isinstance(gpssm.load(model), gpssm.System) else 2
    smoothed = run(capsys, "smooth", model, "--data", held_out, "-o", out, code=code)
    (folder / "inputs.csv").write_text("u\n" + "0.5\n" * 4)
    typical = run(capsys, "simulate", model, "--inputs", folder / "inputs.csv", "-o", out, code=code)
    if code:
        assert "no hidden states" in smoothed["error"]
        assert "--method polished" in smoothed["error"]
        assert "columns y" in typical["error"]
    else:
        assert "typical" in typical["note"]


@pytest.mark.parametrize("name", ["arx", pytest.param("linear", marks=pytest.mark.slow)])
def test_the_number_of_states_is_chosen_on_folds_of_the_training_data(name: str, folder: Path, capsys):
    files, _ = write_runs(folder)
    model = folder / "chosen.gpssm"
    words = ("fit", *files, *COLUMNS, "--method", name, "--states", "1:3", "--holdout", "0", "-o", model)
    told = run(capsys, *words)
    values = {entry["states"]: entry["value"] for entry in told["candidates"]}
    assert set(values) == {1, 2, 3}
    assert values[told["states"]] >= max(values.values()) - 0.1, "never worse than the best by more than this"
    assert (folder / "chosen-states.png").read_bytes().startswith(b"\x89PNG")
    assert "held_out" not in told
    assert not (folder / "chosen-report.html").exists()
    # What is saved was fitted to all training data with the number that was chosen.
    train = gpssm.read(files, outputs="y", inputs="u", dt=0.1)
    method = METHODS[name].make(told["states"], Flags())
    expected = gpssm.fit(train, method, progress=gpssm.Silent()).system
    episode = train[0]
    np.testing.assert_array_equal(
        gpssm.load(model).simulate(episode, n_init=4, seed=1).samples,
        expected.simulate(episode, n_init=4, seed=1).samples,
    )


@pytest.mark.slow
def test_auto_chooses_as_it_does_in_python(folder: Path, capsys):
    files, _ = write_runs(folder)
    settings = {"num_inducing": 6, "hidden": 2, "steps": 20, "iterations": 0, "network_steps": 0, "tries": 1}
    flags = ("--inducing", 6, "--hidden", 2, "--steps", 20, "--polish", 0, "--network", 0, "--tries", 1)
    words = ("fit", *files, *COLUMNS, *flags, "--states", "1:2", "--holdout", "0", "--seed", "4")
    run(capsys, *words, "-o", folder / "auto-chosen.gpssm")
    train = gpssm.read(files, outputs="y", inputs="u", dt=0.1)
    made = gpssm.fit(train, gpssm.Auto((1, 2), gp=gpssm.Polished(**settings)), progress=gpssm.Silent(), seed=4)
    assert gpssm.load(folder / "auto-chosen.gpssm").describe() == made.system.describe()


def test_a_direct_term_is_learnt_said_and_used(folder: Path, capsys):
    files, held_out = write_runs(folder)
    model = folder / "direct.gpssm"
    told = run(capsys, "fit", *files, *COLUMNS, "--method", "subspace", "--direct", "-o", model)
    assert told["method"] == "subspace"
    about = run(capsys, "info", model)
    assert about["settings"]["direct"] is True
    assert about["direct input term (your units)"].startswith("y has ")
    assert "direct input term" in (folder / "direct-report.html").read_text(encoding="utf-8")
    compared = run(capsys, "compare", model, "--data", held_out)
    assert compared["scores"][0]["free_run"] == told["held_out"]
