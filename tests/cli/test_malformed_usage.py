"""Commands that cannot work are refused with exit code 2 (or 5 for model files), and nothing is written."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gpssm.cli import main
from tests.cli.malformed import record

DATA = ("a.csv", "--outputs", "y", "--inputs", "u")
FIT = ("fit", *DATA, "-o", "m.gpssm")


@dataclass(frozen=True)
class BadUsage:
    """Words that must be refused, with what the complaint has to mention."""

    name: str
    words: tuple[str, ...]
    mentions: tuple[str, ...]
    code: int = 2
    files: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)


def flag(name: str, *values: str, mentions: tuple[str, ...] = ()) -> BadUsage:
    return BadUsage(f"{name} {' '.join(values)}", (*FIT, name, *values), (name, *mentions))


def config(name: str, text: str, *mentions: str) -> BadUsage:
    return BadUsage(f"config: {name}", (*FIT, "--config", "c.toml"), mentions, files={"c.toml": text})


PREDICT = ("--data", "a.csv", "-o", "out.csv")
CASES = [
    BadUsage("no such command", ("train",), ("train",)),
    BadUsage("misspelt command", ("chek", "a.csv"), ("chek", "check")),
    BadUsage("no file", ("fit", "--outputs", "y", "-o", "m.gpssm"), ("no file",)),
    BadUsage("no outputs", ("fit", "a.csv", "-o", "m.gpssm"), ("--outputs",)),
    BadUsage("inputs alone", ("check", "a.csv", "--inputs", "u"), ("--outputs",)),
    flag("--offset", "u", mentions=("temperature=273.15",)),
    flag("--offset", "u=warm", mentions=("temperature=273.15",)),
    BadUsage("empty outputs", ("check", "a.csv", "--outputs", ","), ("--outputs",)),
    BadUsage("no target", ("fit", *DATA), ("--output",)),
    BadUsage("unknown flag", (*FIT, "--stats", "2"), ("--stats",)),
    BadUsage("flag without value", (*FIT, "--states"), ("--states",)),
    BadUsage("time and dt", (*FIT, "--time", "t", "--dt", "0.1"), ("--time", "--dt", "not both")),
    BadUsage("dt is text", (*FIT, "--dt", "fast"), ("--dt", "fast")),
    flag("--states", "two", mentions=("1:6",)),
    flag("--states", "0"),
    flag("--states", "-1"),
    flag("--states", "2.5"),
    flag("--states", "3:1", mentions=("1:6",)),
    flag("--states", "1:999"),
    flag("--states", "1:2:3"),
    flag("--states", ":"),
    flag("--kernel", "rbff", mentions=("did you mean 'rbf'", "matern12")),
    flag("--kernel", "rbf++matern12", mentions=("empty word",)),
    flag("--kernel", "", mentions=("rbf",)),
    flag("--kernel", "rbf+", mentions=("empty word",)),
    flag("--kernel", "matern11", mentions=("matern12",)),
    flag("--kernel", "rbf(2)", mentions=("rbf",)),
    flag("--inducing", "0", mentions=("positive",)),
    flag("--inducing", "-5", mentions=("positive",)),
    flag("--inducing", "many", mentions=("many",)),
    flag("--hidden", "0", mentions=("positive",)),
    flag("--steps", "0", mentions=("positive",)),
    flag("--steps", "a lot", mentions=("a lot",)),
    flag("--tries", "0", mentions=("positive",)),
    flag("--polish", "-1", mentions=("negative",)),
    flag("--network", "-1", mentions=("negative",)),
    flag("--seed", "-1", mentions=("negative",)),
    flag("--holdout", "-0.2", mentions=("0.2",)),
    flag("--holdout", "1.5", mentions=("share",)),
    flag("--holdout", "nan", mentions=("share",)),
    flag("--holdout", "1", mentions=("nothing to learn",)),
    flag("--holdout", "half", mentions=("half",)),
    flag("--holdout", "0.01", mentions=("long enough",)),
    flag("--resume", mentions=("no checkpoints",)),
    BadUsage("no such method", (*FIT, "--method", "liner"), ("--method", "did you mean linear", "gp-narx")),
    BadUsage(
        "a flag for another method", (*FIT, "--method", "linear", "--hidden", "4"), ("--hidden", "linear", "auto")
    ),
    BadUsage(
        "a setting for another method",
        (*FIT, "--method", "arx"),
        ("--steps", "arx"),
        environment={"GPSSM_FIT_STEPS": "5"},
    ),
    BadUsage(
        "processes that share nothing",
        (*FIT, "--method", "linear", "--distributed", "--coordinator", "h:1", "--processes", "2", "--process", "0"),
        ("--distributed", "linear", "auto"),
    ),
    BadUsage("target is a folder", ("fit", *DATA, "-o", "."), ("folder", "-o")),
    BadUsage("folder of the target is missing", ("fit", *DATA, "-o", "there/m.gpssm"), ("there", "does not exist")),
    BadUsage("target is the record", ("fit", *DATA, "-o", "a.csv"), ("a.csv", "read from")),
    config("no such table", "[fitt]\nstates = 2\n", "c.toml", "fitt", "[fit]"),
    config("settings without table", "states = 2\n", "c.toml", "states", "[fit]"),
    config("table is a number", "fit = 3\n", "c.toml", "[fit]"),
    config("unknown key", "[fit]\nstats = 2\n", "stats"),
    config("not TOML", "[fit\nstates = 2\n", "c.toml", "TOML"),
    config("value of a wrong kind", '[fit]\nsteps = "a lot"\n', "steps", "a lot"),
    config("value that cannot be", "[fit]\nsteps = -3\n", "--steps", "positive"),
    config("kernel that is none", '[fit]\nkernel = "rbff"\n', "kernel", "rbff"),
    BadUsage("config: no such file", (*FIT, "--config", "c.toml"), ("c.toml", "no such")),
    BadUsage(
        "environment: unknown", FIT, ("GPSSM_FIT_STATS", "GPSSM_FIT_STATES"), environment={"GPSSM_FIT_STATS": "2"}
    ),
    BadUsage("environment: bad number", FIT, ("STEPS", "some"), environment={"GPSSM_FIT_STEPS": "some"}),
    BadUsage("environment: bad states", FIT, ("--states", "two"), environment={"GPSSM_FIT_STATES": "two"}),
    BadUsage("no such model", ("info", "no.gpssm"), ("no.gpssm", "no such")),
    BadUsage("a record for a model", ("info", "a.csv"), ("a.csv",), code=5),
    BadUsage("an empty model", ("info", "e.gpssm"), ("e.gpssm",), code=5, files={"e.gpssm": ""}),
    BadUsage("predict with a record", ("predict", "a.csv", *PREDICT), ("a.csv",), code=5),
    BadUsage("smooth with a record", ("smooth", "a.csv", *PREDICT), ("a.csv",), code=5),
    BadUsage("predict without model file", ("predict", "no.gpssm", *PREDICT), ("no.gpssm",)),
    BadUsage("horizon 0", ("predict", "m.gpssm", *PREDICT, "--horizon", "0"), ("--horizon", "positive")),
    BadUsage("seed negative", ("predict", "m.gpssm", *PREDICT, "--seed", "-1"), ("--seed", "negative")),
    BadUsage("samples negative", ("predict", "m.gpssm", *PREDICT, "--samples", "-1"), ("--samples",)),
    BadUsage("quantile is text", ("predict", "m.gpssm", *PREDICT, "--quantiles", "low"), ("--quantiles", "low")),
    BadUsage("quantile beyond one", ("predict", "m.gpssm", *PREDICT, "--quantiles", "0.5,95"), ("--quantiles", "95")),
    BadUsage("predict over its record", ("predict", "m.gpssm", "--data", "a.csv", "-o", "a.csv"), ("read from",)),
    BadUsage("simulate without inputs", ("simulate", "m.gpssm", "-o", "out.csv"), ("--inputs", "--steps")),
    BadUsage("forecast without inputs", ("forecast", "m.gpssm", *PREDICT), ("--inputs", "--steps")),
    BadUsage("forecast no steps", ("forecast", "m.gpssm", *PREDICT, "--steps", "0"), ("--steps", "positive")),
    BadUsage("compare without model", ("compare", "--data", "a.csv"), ("no model",)),
    BadUsage("compare bad horizons", ("compare", "a.csv", "--data", "a.csv", "--horizons", "1;2"), ("--horizons",)),
    BadUsage("report with a record", ("report", "a.csv", *PREDICT), ("a.csv",), code=5),
    BadUsage("report without data", ("report", "a.csv", "-o", "r.html"), ("--data",)),
    BadUsage("report over its record", ("report", "m.gpssm", "--data", "a.csv", "-o", "a.csv"), ("read from",)),
    BadUsage("report bad init", ("report", "m.gpssm", *PREDICT, "--init", "0"), ("--init", "positive")),
    BadUsage("no such public record", ("datasets", "fetch", "actuatr"), ("actuatr", "actuator")),
    BadUsage("convert another file", ("datasets", "convert", "actuator", "a.csv", "-o", "b.csv"), ("sha256",), code=3),
    BadUsage("convert nothing", ("datasets", "convert", "dryer", "no.dat", "-o", "b.csv"), ("no.dat",), code=3),
]


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BadUsage:
    """The case, in a folder with a good record."""
    for name, text in {"a.csv": record(), **request.param.files}.items():
        (tmp_path / name).write_text(text)
    for name, value in request.param.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return request.param


def _state(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


def test_refused_for_people_and_for_machines(case: BadUsage, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    before = _state(tmp_path)
    assert main(case.words) == case.code
    said = capsys.readouterr()
    for mention in case.mentions:
        assert mention in said.err.replace("\n", " "), f"'{mention}' is missing in: {said.err}"
    assert "Traceback" not in said.err
    assert said.out == ""
    assert main([*case.words, "--json"]) == case.code
    answer = json.loads(capsys.readouterr().out)
    assert answer["exit_code"] == case.code
    assert answer["error"]
    assert _state(tmp_path) == before, "something was written or changed"
