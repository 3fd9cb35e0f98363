"""Files of every kind of model, with right digests, whose parts make no sense: all refused when they are read."""

import copy
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import gpjax.kernels as gk
import jax.numpy as jnp
import numpy as np
import pytest

import gpssm
from gpssm._core._params import Positive
from gpssm.files._container import pack, read
from gpssm.files._model_file import KIND
from gpssm.methods import PreviousEpisode
from gpssm.predict import AbstractPredictor, Autoregression, Channels, Lags, MixturePredictor
from gpssm.predict.autoregression._exact_gp import ExactGP, Prior
from tests.faults.damage import ZEROS, forge, refused
from tests.reference.small_system import records

ROOT = Path(__file__).resolve().parents[2]
Content = dict[str, Any]


def exact_gp() -> Autoregression:
    """Two lags and two rows, put together by hand: nothing has to be compiled for it."""
    rng = np.random.default_rng(0)
    prior = Prior(gk.RBF(lengthscale=jnp.asarray(1.0), variance=jnp.asarray(1.0)), Positive(jnp.zeros(())))
    z, y, square = (jnp.asarray(rng.standard_normal(shape)) for shape in ((2, 2), (2,), (2, 2)))
    gp = ExactGP((prior,), z, jnp.ones(2), (y,), (square,), (y,))
    lags = Lags(1, 1, True)
    return Autoregression(gp, lags, gpssm.Scaler.from_episodes(records()), Channels.of(records()), -1.0)


@cache
def honest() -> dict[str, AbstractPredictor]:
    """A sound model of each kind that takes no time to make."""
    methods = {"arx": gpssm.ARX(2), "constant": gpssm.Constant(), "repeat": PreviousEpisode()}
    made = {name: gpssm.fit(records(), method, progress=gpssm.Silent()).system for name, method in methods.items()}
    mixture = MixturePredictor((made["arx"], made["constant"]), (0.8, 0.2), 0.9)
    return made | {"exact": exact_gp(), "mixture": mixture}


@cache
def _stored(kind: str) -> tuple[Content, dict[str, np.ndarray]]:
    with tempfile.TemporaryDirectory() as folder:
        gpssm.save(honest()[kind], Path(folder) / "m")
        header, tensors = read(Path(folder) / "m", KIND)
    return header.content, tensors


def fields(content: Content, *path: str | int) -> Content:
    """The fields of the model, or of a part of it."""
    node = content["system"]["fields"]
    for step in path:
        node = node["tuple"][step]["fields"] if isinstance(step, int) else node[step]
        node = node["fields"] if isinstance(node, dict) and "fields" in node else node
    return node


def put(*path: str | int, **values: Any) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        fields(content, *path).update(values)

    return change


def within_itself(times: int) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        for _ in range(times):
            held = {"members": {"tuple": [content["system"]]}, "weights": None, "width": 1.0}
            content["system"] = {"class": "gpssm.MixturePredictor", "fields": held}

    return change


def tensor(name: str) -> dict[str, str]:
    return {"tensor": f"system.{name}"}


INFINITE = 12345.678
"""Stands for 1e400 in the text, which Python reads as infinity."""

# The kind of model, and what is done to it: a change of its content, or tensors in place of its own.
CASES: dict[str, tuple[str, Callable[[Content], Any]]] = {
    "no lags": ("arx", put("lags", outputs=0)),
    "negative lags": ("arx", put("lags", inputs=-1)),
    "lags that are half": ("arx", put("lags", outputs=1.5)),
    "lags that are text": ("arx", put("lags", outputs="2")),
    "lags that are a truth": ("arx", put("lags", outputs=True)),
    "lags for more than there are coefficients": ("arx", put("lags", outputs=3)),
    "lags beyond all measure": ("arx", put("lags", outputs=10**9)),
    "lags that are none": ("arx", put(lags=None)),
    "an increment that is a number": ("arx", put("lags", increment=7)),
    "a recurrence of other lags": ("arx", put("regression", output_lags=1)),
    "a radius that is negative": ("arx", put("regression", max_radius=-1.0)),
    "a radius that is text": ("arx", put("regression", max_radius="one")),
    "a radius that is infinite": ("arx", put("regression", max_radius=INFINITE)),
    "noise that is negative": ("arx", lambda content: {"system.regression.noise": np.array([-1.0])}),
    "coefficients of another shape": ("arx", put("regression", weights=tensor("regression.chol"))),
    "a regression that is a kernel": ("arx", put(regression={"class": "gpjax.kernels.RBF", "fields": {}})),
    "evidence that is text": ("arx", put(log_evidence="high")),
    "evidence that is infinite": ("arx", put(log_evidence=INFINITE)),
    "a scaler of another size": ("arx", put("scaler", output_mean=tensor("regression.chol"))),
    "a scaler of another length": (
        "arx",
        put("scaler", output_mean={"list": [0.0, 0.0]}, output_scale={"list": [1.0, 1.0]}),
    ),
    "a scaler that is none": ("arx", put(scaler=None)),
    "a time step that is zero": ("arx", put("channels", dt=0.0)),
    "a time step that is infinite": ("arx", put("channels", dt=INFINITE)),
    "a time step that is a truth": ("arx", put("channels", dt=True)),
    "a name that is no text": ("arx", put("channels", input_names={"tuple": [None]})),
    "names that are a list of lists": ("arx", put("channels", input_names={"tuple": [{"tuple": ["a"]}]})),
    "a name twice": ("constant", put("channels", input_names={"tuple": ["a", "a"]})),
    "no outputs": ("constant", put("channels", output_names={"tuple": []})),
    "a mean of another size": ("constant", put("channels", output_names={"tuple": ["a", "b"]})),
    "a mean that is a number": ("constant", put(mean=0.5)),
    "a spread that is text": ("constant", put(std="wide")),
    "a record that is a number": ("repeat", put(outputs=1.0)),
    "a record without time": ("repeat", put(outputs=tensor("std"))),
    "a GP for no output": ("exact", put("regression", priors={"tuple": []})),
    "a GP of other lags": ("exact", put("lags", inputs=2)),
    "a GP with rows of another number": ("exact", put("regression", valid=tensor("scaler.output_mean"))),
    "a GP with weights that are a matrix": ("exact", put("regression", weights={"tuple": [tensor("regression.z")]})),
    "a GP whose kernel is a network": (
        "exact",
        put("regression", "priors", 0, kernel={"class": "gpssm.GRU", "fields": {}}),
    ),
    "a GP whose noise is negative": ("exact", put("regression", "priors", 0, noise=-1.0)),
    "shares that are a tensor": ("mixture", put(weights=tensor("members.0.scaler.output_mean"))),
    "shares that are infinite": ("mixture", put(weights={"tuple": [INFINITE, 1.0]})),
    "shares that are truths": ("mixture", put(weights={"tuple": [True, False]})),
    "shares of nothing": ("mixture", put(weights={"tuple": [0.0, 0.0]})),
    "a member of other channels": ("mixture", put("members", 1, "channels", output_names={"tuple": ["pressure"]})),
    "a member of another time step": ("mixture", put("members", 1, "channels", dt=2.0)),
    "a member that is damaged": ("mixture", put("members", 0, "lags", outputs=-3)),
    "members that are a list": ("mixture", put(members={"list": []})),
    "members that are one": ("mixture", put(members=1)),
    "mixtures a hundred deep": ("mixture", within_itself(100)),
}


def forged(name: str) -> bytes:
    """A file that only the checks of its content can refuse."""
    kind, change = CASES[name]
    content, tensors = copy.deepcopy(_stored(kind)[0]), _stored(kind)[1]
    tensors = tensors | (change(content) or {})
    data = pack(KIND, content, tensors)
    text = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["gpssm"]
    header = json.dumps(json.loads(text) | {"header_sha256": ZEROS}).replace(str(INFINITE), "1e400")
    return forge(header, tensors)


def not_refused(folder: Path) -> list[str]:
    """What gets through: nothing, unless there is a mistake."""
    return [name for name in CASES if not refused(forged(name), folder)]


@pytest.mark.parametrize("kind", honest())
def test_the_forgeries_would_load_if_they_were_honest(kind, tmp_path):
    content, tensors = _stored(kind)
    assert not refused(pack(KIND, content, tensors), tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_models_that_make_no_sense_are_refused(name, tmp_path):
    assert refused(forged(name), tmp_path)


def test_a_mixture_within_a_mixture_is_allowed(tmp_path):
    content, tensors = copy.deepcopy(_stored("mixture")[0]), _stored("mixture")[1]
    within_itself(3)(content)
    assert not refused(pack(KIND, content, tensors), tmp_path)


@pytest.mark.system
def test_they_are_refused_without_the_type_checks_of_the_tests():
    """Tests check every annotated type; users do not, and the checks of the files have to do it alone."""
    code = "from tests.files.test_hostile_models import *; print(not_refused(Path(tempfile.mkdtemp())))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
