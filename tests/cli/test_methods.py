"""`--method`: one table from names to methods, and which flags go with which."""

from functools import partial
from pathlib import Path

import pytest

import gpssm
from gpssm.cli import main
from gpssm.cli._methods import METHODS, Flags, find_method
from gpssm.cli._outcome import UsageError
from gpssm.methods import GPNARX, AroundLinear
from gpssm.optimisers import Adam
from tests.cli.records import SMALL, write_runs

POLISHED = partial(
    gpssm.Polished,
    kernel="matern32",
    num_inducing=6,
    hidden=2,
    steps=10,
    iterations=3,
    network_steps=4,
    tries=1,
)
COLUMNS = ("--outputs", "y", "--inputs", "u", "--dt", "0.1")


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("polished", POLISHED(2)),
        ("auto", gpssm.Auto(2, "quick", POLISHED(), 5.0)),
        ("subspace", gpssm.Subspace(2)),
        (
            "variational",
            gpssm.Variational(gpssm.ModelSpec(2, "matern32", num_inducing=6), q_x=gpssm.Network(2), optimiser=Adam(10)),
        ),
        ("output-error", gpssm.OutputError(2, num_inducing=6)),
        ("marginal", gpssm.Marginal(gpssm.ModelSpec(2, "matern32", num_inducing=6))),
        ("marginal-around-linear", gpssm.Marginal(AroundLinear((2,), num_inducing=6))),
        (
            "particle-gibbs",
            gpssm.methods.ParticleGibbs(gpssm.ModelSpec(2, "matern32", num_inducing=6), sweeps=10, warmup=2),
        ),
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
        ("polished", gpssm.Polished(3)),
        ("variational", gpssm.Variational(gpssm.ModelSpec(3), q_x=gpssm.Network(32), optimiser=Adam(800))),
        ("output-error", gpssm.OutputError(3)),
        ("gp-narx", GPNARX(output_lags=3)),
    ],
)
def test_what_is_not_given_is_left_to_the_method(name, made):
    assert find_method(name, Flags()).make(3, Flags()) == made


def test_a_method_that_finds_its_number_of_states_is_not_told_one():
    assert METHODS["auto"].several(None, Flags()) == gpssm.Auto()
    assert METHODS["auto"].several(range(1, 3), Flags()) == gpssm.Auto((1, 2))
    assert METHODS["subspace"].several(None, Flags()) == gpssm.Subspace()


def test_a_method_that_compares_numbers_of_states_by_itself_is_told_all_of_them():
    made = METHODS["marginal-around-linear"].several(range(2, 4), Flags())
    assert made == gpssm.Marginal(AroundLinear((2, 3)))


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
        "polished 1": str(gpssm.Polished(1, steps=7)),
        "polished 2": str(gpssm.Polished(2, steps=7)),
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


def test_the_comparison_is_shown_to_people(tmp_path: Path, capsys):
    files, _ = write_runs(tmp_path)
    model = tmp_path / "shown.gpssm"
    words = ["fit", *files, *COLUMNS, "--method", "arx", "--states", "1:2", "--no-report", "-o", str(model)]
    assert main(words) == 0
    said = capsys.readouterr()
    assert "candidate" in said.err
    assert "chosen: " in said.err
    assert f"Figure: {tmp_path / 'shown-states.png'}" in said.out
    assert "On the held-out part, running freely: RMSE" in said.out
