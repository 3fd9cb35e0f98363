"""`--method`: one table from names to methods, and every method goes all the way from records to a comparison."""

from pathlib import Path

import numpy as np
import pytest

import gpssm
from gpssm.cli._methods import METHODS, Flags, find_method
from gpssm.cli._outcome import UsageError
from gpssm.methods import GPNARX
from gpssm.optimisers import Adam
from tests.cli.records import ROWS, run, write_record, write_runs

COLUMNS = ("--outputs", "y", "--inputs", "u", "--dt", "0.1")
SMALL = {"kernel": "matern32", "inducing": 6, "hidden": 2, "steps": 10, "polish": 3, "network": 4, "tries": 1}
STATES = {"auto", "variational", "output-error", "linear"}
"""Methods whose models have hidden states."""
QUICK = {"arx"}


def small(method: str) -> list[str]:
    """The flags that a method uses, with small numbers."""
    return [word for name in METHODS[method].uses for word in (f"--{name}", str(SMALL[name]))]


@pytest.mark.parametrize(
    ("name", "made"),
    [
        (
            "auto",
            gpssm.Auto(2, "matern32", num_inducing=6, hidden=2, steps=10, iterations=3, network_steps=4, tries=1),
        ),
        (
            "variational",
            gpssm.Variational(gpssm.ModelSpec(2, "matern32", num_inducing=6), q_x=gpssm.Network(2), optimiser=Adam(10)),
        ),
        ("output-error", gpssm.OutputError(2, num_inducing=6)),
        ("linear", gpssm.Linear(order=2)),
        ("arx", gpssm.ARX(output_lags=2)),
        ("gp-narx", GPNARX(output_lags=2, kernel="matern32", num_inducing=6)),
    ],
)
def test_flags_become_a_method(name, made):
    flags = Flags(**{flag: SMALL[flag] for flag in METHODS[name].uses})
    assert find_method(name, flags).make(2, flags) == made


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("auto", gpssm.Auto(3)),
        ("variational", gpssm.Variational(gpssm.ModelSpec(3), q_x=gpssm.Network(32), optimiser=Adam(800))),
        ("output-error", gpssm.OutputError(3)),
        ("gp-narx", GPNARX(output_lags=3)),
    ],
)
def test_what_is_not_given_is_left_to_the_method(name, made):
    assert find_method(name, Flags()).make(3, Flags()) == made


def test_a_mixture_has_every_kind_with_every_number_of_states():
    made = METHODS["mixture"].several(range(1, 3), Flags(steps=7))
    assert isinstance(made, gpssm.Stacked)
    assert {name: str(member) for name, member in made.members.items()} == {
        "linear 1": str(gpssm.Linear(1)),
        "linear 2": str(gpssm.Linear(2)),
        "arx 1": str(gpssm.ARX(1)),
        "arx 2": str(gpssm.ARX(2)),
        "output-error 1": str(gpssm.OutputError(1)),
        "output-error 2": str(gpssm.OutputError(2)),
        "auto 1": str(gpssm.Auto(1, steps=7)),
        "auto 2": str(gpssm.Auto(2, steps=7)),
    }


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("flag", SMALL)
def test_a_flag_that_would_do_nothing_is_refused(name: str, flag: str):
    flags = Flags(**{flag: SMALL[flag]})
    if flag in METHODS[name].uses:
        find_method(name, flags)
        return
    with pytest.raises(UsageError, match=f"--{flag} does nothing with --method {name}") as caught:
        find_method(name, flags)
    assert "auto" in str(caught.value), "a method that uses it is named"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("methods")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in METHODS])
def test_every_method_is_fitted_saved_used_reported_and_compared(name: str, folder: Path, capsys):
    files, held_out = write_runs(folder)
    model, out = folder / f"{name}.gpssm", folder / f"{name}.csv"
    told = run(capsys, "fit", *files, *COLUMNS, "--method", name, *small(name), "--seed", "3", "-o", model)
    assert (told["method"], told["states"], told["seed"]) == (name, 2, 3)
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
    code = 0 if name in STATES else 2
    smoothed = run(capsys, "smooth", model, "--data", held_out, "-o", out, code=code)
    (folder / "inputs.csv").write_text("u\n" + "0.5\n" * 4)
    typical = run(capsys, "simulate", model, "--inputs", folder / "inputs.csv", "-o", out, code=code)
    if code:
        assert "no hidden states" in smoothed["error"]
        assert "--method auto" in smoothed["error"]
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


def test_the_comparison_is_shown_to_people(folder: Path, capsys):
    from gpssm.cli import main

    files, _ = write_runs(folder)
    model = folder / "shown.gpssm"
    words = ["fit", *files, *COLUMNS, "--method", "arx", "--states", "1:2", "--no-report", "-o", str(model)]
    assert main(words) == 0
    said = capsys.readouterr()
    assert "candidate" in said.err
    assert "chosen: " in said.err
    assert f"Figure: {folder / 'shown-states.png'}" in said.out
    assert "On the held-out part, running freely: RMSE" in said.out


@pytest.mark.slow
def test_auto_chooses_as_it_does_in_python(folder: Path, capsys):
    files, _ = write_runs(folder)
    settings = {"num_inducing": 6, "hidden": 2, "steps": 20, "iterations": 0, "network_steps": 0, "tries": 1}
    flags = ("--inducing", 6, "--hidden", 2, "--steps", 20, "--polish", 0, "--network", 0, "--tries", 1)
    words = ("fit", *files, *COLUMNS, *flags, "--states", "1:2", "--holdout", "0", "--seed", "4")
    told = run(capsys, *words, "-o", folder / "auto-chosen.gpssm")
    train = gpssm.read(files, outputs="y", inputs="u", dt=0.1)
    made = gpssm.fit(train, gpssm.Auto((1, 2), **settings), progress=gpssm.Silent(), seed=4)
    assert told["states"] == made.system.model.state_dim
    assert told["bound_per_step"] == made.history.bound[-1]
