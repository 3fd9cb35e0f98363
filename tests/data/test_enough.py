"""More states than measurements can tell apart are refused, in Python and on the command line."""

from pathlib import Path

import numpy as np
import pytest

import gpssm
from gpssm.cli import main
from gpssm.data import DataError, Episodes
from gpssm.data._enough import check_enough, measured_rows
from gpssm.methods._asked import asked_states
from gpssm.readers import examine
from tests.cli.malformed import record


def rows(count: int, outputs: int = 1) -> Episodes:
    rng = np.random.default_rng(0)
    return Episodes.from_arrays(y=rng.standard_normal((count, outputs)), u=rng.standard_normal(count))


@pytest.mark.parametrize(
    ("count", "outputs", "states", "enough"),
    [
        (60, 1, 50, False),
        (10, 1, 8, False),
        (60, 1, 30, True),
        (60, 1, 31, False),
        (60, 3, 45, True),
        (60, 3, 46, False),
    ],
)
def test_unknowns_are_counted(count: int, outputs: int, states: int, enough: bool):
    """D O numbers for the motion and D for the start, against as many measurements as there are."""
    assert (states * (outputs + 1) <= count * outputs) == enough
    if enough:
        check_enough(rows(count, outputs), states)
        return
    with pytest.raises(DataError, match=f"{states} states .*only {count * outputs} values were measured.*at most"):
        check_enough(rows(count, outputs), states)


def test_missing_measurements_do_not_count():
    y = np.where(np.arange(60) % 3 == 0, 1.0 + np.arange(60), np.nan)
    episodes = Episodes.from_arrays(y=y)
    assert measured_rows(episodes) == 20
    check_enough(episodes, 10)
    with pytest.raises(DataError, match="only 20 values"):
        check_enough(episodes, 11)


@pytest.mark.parametrize(
    ("method", "asked"),
    [
        (gpssm.Auto(), []),
        (gpssm.Auto(7), [7]),
        (gpssm.Auto((3, 1, 9)), [1]),
        (gpssm.Polished(4), [4]),
        (gpssm.OutputError(5), [5]),
        (gpssm.Linear(6), [6]),
        (gpssm.ARX(3), [3]),
        (gpssm.GPNARX(2), [2]),
        (gpssm.Variational(gpssm.ModelSpec(8)), [8]),
        (gpssm.Linear(6).then(gpssm.Variational(gpssm.ModelSpec(2))), [6, 2]),
        (gpssm.BestOf(gpssm.Linear(1), gpssm.Restarts(gpssm.Polished(2))), [1, 2]),
        (gpssm.Stacked({"a": gpssm.Linear(3), "b": gpssm.ARX(4)}), [3, 4]),
        (gpssm.Marginal(gpssm.ModelSpec(4)), [4]),
        (gpssm.Marginal(gpssm.methods.AroundLinear((5, 3))), [3]),
        (gpssm.Constant(), []),
    ],
    ids=str,
)
def test_what_a_method_asks_for_is_found(method, asked):
    assert list(asked_states(method)) == asked


@pytest.mark.parametrize(
    "method", [gpssm.Polished(50), gpssm.Linear(50), gpssm.ARX(50), gpssm.OutputError(50)], ids=str
)
def test_fifty_states_from_sixty_rows_are_refused_before_anything_is_computed(method):
    with pytest.raises(DataError, match="50 states"):
        gpssm.fit(rows(60), method, progress=gpssm.Silent())


@pytest.mark.parametrize("states", ["50", "1:50"])
def test_and_on_the_command_line(states: str, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(record(rows=60))
    assert main(["fit", "a.csv", "--outputs", "y", "--inputs", "u", "--states", states, "-o", "m.gpssm"]) == 3
    assert "50 states" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_three_rows_are_unfit_for_learning():
    found = examine(rows(3))
    assert not found.fit_for_learning
    with pytest.raises(DataError, match="3 measured rows in all"):
        found.require_fit_for_learning()
    assert examine(rows(20)).fit_for_learning


def test_a_record_in_other_units_is_found_among_the_others():
    rng = np.random.default_rng(0)
    volts = [rng.standard_normal(40) for _ in range(3)]
    found = examine(Episodes.from_arrays(y=[volts[0], volts[1], 1000.0 * volts[2]]))
    (message,) = [finding.message for finding in found.findings if "times as large" in finding.message]
    assert "in episode 2 as in most records" in message
    assert "times as large" in examine(Episodes.from_arrays(y=[volts[0], 1000.0 * volts[1]])).findings[0].message
    assert not [f for f in examine(Episodes.from_arrays(y=volts)).findings if "times" in f.message]
