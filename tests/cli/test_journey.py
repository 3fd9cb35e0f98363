"""From two CSV files to a model and a forecast with bands, by the command line alone."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import gpssm
from gpssm.cli import _run_fit, main
from tests.cli.records import run, write_record

pytestmark = pytest.mark.slow

COLUMNS = ("--outputs", "y", "--inputs", "u", "--dt", "0.1")
TINY = (
    "--method",
    "polished",
    "--states",
    "1",
    "--tries",
    "1",
    "--inducing",
    "6",
    "--hidden",
    "2",
    "--steps",
    "150",
    "--polish",
    "0",
    "--network",
    "0",
)


def table(path: Path) -> dict[str, np.ndarray]:
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name != "record"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two records of unequal length with missing outputs, a test record, and inputs to come."""
    place = tmp_path_factory.mktemp("journey")
    write_record(place / "a.csv", 60, 0, gaps=(5, 6, 30))
    write_record(place / "b.csv", 45, 1, gaps=(12,))
    write_record(place / "test.csv", 40, 2, gaps=())
    write_record(place / "other.csv", 40, 3, gaps=(7,))
    (place / "future.csv").write_text("u\n" + "0.5\n" * 15)
    return place


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    path = folder / "model.gpssm"
    assert main(["fit", str(folder / "a.csv"), str(folder / "b.csv"), *COLUMNS, *TINY, "-o", str(path), "--json"]) == 0
    return path


def test_a_model_is_saved_and_its_checkpoints_are_gone(folder: Path, model: Path, capsys):
    told = run(capsys, "info", str(model))
    assert (told["output_names"], told["input_names"], told["dt"], told["states"]) == (["y"], ["u"], 0.1, "1")
    assert told["settings"]["held_out"]["rmse"] > 0.0
    assert not Path(f"{model}.checkpoints").exists()


def test_forecast_has_bands_and_counts_on(folder: Path, model: Path, capsys):
    out = folder / "forecast.csv"
    words = ("forecast", str(model), "--data", str(folder / "b.csv"), "--inputs", str(folder / "future.csv"))
    told = run(capsys, *words, "-o", str(out), "--quantiles", "0.05,0.95", "--samples", "2")
    columns = table(out)
    assert told["rows"] == 15
    assert list(columns) == [
        *("step", "time", "y_mean", "y_sd", "y_q050", "y_q950", "y_sample0", "y_sample1"),
    ]
    np.testing.assert_array_equal(columns["step"], np.arange(45, 60))
    np.testing.assert_allclose(columns["time"], 0.1 * columns["step"])
    assert (columns["y_q050"] < columns["y_mean"]).all()
    assert (columns["y_mean"] < columns["y_q950"]).all()


def test_simulation_predicts_and_starts_with_or_without_outputs(folder: Path, model: Path, capsys):
    out = folder / "simulated.csv"
    run(capsys, "simulate", str(model), "--inputs", str(folder / "test.csv"), "--init", "8", "-o", str(out))
    truth = np.genfromtxt(folder / "test.csv", delimiter=",", names=True)["y"][8:]
    error = np.sqrt(np.mean((table(out)["y_mean"] - truth) ** 2))
    assert error < 0.6 * truth.std()
    told = run(capsys, "simulate", str(model), "--inputs", str(folder / "future.csv"), "-o", str(out))
    assert "typical" in told["note"]
    assert len(table(out)["step"]) == 15


def test_prediction_smoothing_and_comparison(folder: Path, model: Path, capsys):
    out, test = folder / "out.csv", str(folder / "test.csv")
    run(capsys, "predict", str(model), "--data", test, "--horizon", "3", "-o", str(out))
    np.testing.assert_array_equal(table(out)["step"], np.arange(3, 40))
    told = run(capsys, "smooth", str(model), "--data", test, "--data", str(folder / "other.csv"), "-o", str(out))
    assert told["rows"] == 80
    assert "state0_sd" in told["columns"]
    told = run(capsys, "compare", str(model), "--data", test, "--horizons", "1,5")
    scores = told["scores"][0]
    assert set(scores["horizons"]) == {"1", "5"}
    assert set(scores["free_run"]) == {"rmse", "fit_percent", "log_density", "coverage95", "crps"}


def test_a_fit_and_a_command_write_reports(folder: Path, model: Path, capsys):
    assert "<html" in (folder / "model-report.html").read_text(encoding="utf-8")[:200].lower()
    out, test = folder / "report.html", str(folder / "test.csv")
    told = run(capsys, "report", str(model), "--data", test, "--training", str(folder / "a.csv"), "-o", str(out))
    assert told["verdict"] in out.read_text(encoding="utf-8")
    told = run(capsys, "report", str(model), str(model), "--data", test, "-o", str(out))
    assert "best free simulation" in told["verdict"]


def test_records_that_do_not_fit_the_model(folder: Path, model: Path, capsys):
    (folder / "without.csv").write_text("v,y\n1,2\n2,3\n3,4\n")
    out = folder / "never.csv"
    told = run(capsys, "predict", str(model), "--data", str(folder / "without.csv"), "-o", str(out), code=3)
    assert "'u'" in told["error"]
    (folder / "slow.csv").write_text("t,u,y\n0,1,2\n1,2,3\n2,2,4\n")
    words = ("predict", str(model), "--data", str(folder / "slow.csv"), "--time", "t", "-o", str(out))
    assert "time step" in run(capsys, *words, code=3)["error"]
    assert not out.exists()


class _Impatient:
    """Presses Ctrl-C when some steps are made."""

    calls = 0

    def update(self, report: object) -> None:
        self.calls += 1
        if self.calls == 2:
            raise KeyboardInterrupt

    def say(self, message: str) -> None:
        """Nothing."""


def test_interrupted_saved_and_resumed_to_the_same_model(folder: Path, model: Path, monkeypatch, capsys):
    path = folder / "broken.gpssm"
    words = ("fit", str(folder / "a.csv"), str(folder / "b.csv"), *COLUMNS, *TINY, "-o", str(path))

    @contextmanager
    def shown(screen: object) -> Iterator[_Impatient]:
        yield _Impatient()

    with monkeypatch.context() as patch:
        patch.setattr(_run_fit, "shown", shown)
        told = run(capsys, *words, code=6)
    assert told["go_on"].endswith("--resume")
    assert path.exists()
    assert list(Path(f"{path}.checkpoints").glob("*.ckpt"))
    assert "--resume" in run(capsys, *words, code=2)["error"]
    assert run(capsys, *words, "--seed", "9", "--resume", code=2)["error"]
    run(capsys, *words, "--resume")
    assert not Path(f"{path}.checkpoints").exists()
    whole, resumed = gpssm.load(model), gpssm.load(path)
    assert whole.history is not None
    assert resumed.history is not None
    np.testing.assert_array_equal(whole.history.bound, resumed.history.bound)
