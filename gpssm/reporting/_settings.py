"""What a reader needs to repeat the result: model, settings, seed and versions."""

import platform
import textwrap
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

import gpssm
from gpssm._core._history import History
from gpssm.evaluate import Judged
from gpssm.evaluate._judge import SAMPLES
from gpssm.fitting import Fit
from gpssm.predict import AbstractPredictor

PACKAGES = ("jax", "jaxlib", "equinox", "gpjax", "cuthbert", "optax", "numpy", "scipy", "plotly")
LONGEST = 400
"""Letters of a method in words; one that holds a whole model has more."""


def describe_training(model: Fit | AbstractPredictor) -> dict[str, str]:
    """How the model was learnt, how long that took, and what happened on the way."""
    rows = {}
    if isinstance(model, Fit):
        rows["method"] = textwrap.shorten(str(model.method), LONGEST, placeholder=" ...")
        rows["the fit ended"] = model.result.value
    history: History | None = model.history
    if history is None:
        return rows
    if len(history.bound):
        rows["training steps"] = str(len(history.bound))
    rows["training time"] = f"{history.seconds:.3g} s"
    for i, event in enumerate(history.events):
        rows[f"event {i + 1}"] = event
    return rows


def describe_run(judged: Judged) -> dict[str, str]:
    """The settings of the report itself."""
    return {
        "outputs shown before a free run": f"{judged.n_init} steps",
        "horizons": ", ".join(str(h) for h in judged.horizons),
        "sampled trajectories": str(SAMPLES),
        "random key of this report": " ".join(str(int(word)) for word in np.ravel(_words(judged.key))),
    }


def versions() -> dict[str, str]:
    """Versions of everything that the numbers depend on."""
    rows = {"gpssm": gpssm.__version__, "Python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            rows[package] = version(package)
        except PackageNotFoundError:
            rows[package] = "version unknown"
    return rows


def merged(*groups: Mapping[str, str] | None) -> dict[str, str]:
    """All rows of some groups; later ones win."""
    return {name: value for group in groups if group for name, value in group.items()}


def _words(key: PRNGKeyArray) -> np.ndarray:
    typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(key) if typed else key)
