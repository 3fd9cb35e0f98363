"""What a reader needs to repeat the result: model, settings, seed and versions."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

import gpssm
from gpssm.models.transition import SparseGP
from gpssm.predict import System

PACKAGES = ("jax", "jaxlib", "equinox", "gpjax", "cuthbert", "optax", "numpy", "scipy", "plotly")


def describe_model(system: System) -> dict[str, str]:
    """The parts of the model and their parameters in words; noise in the user's units and relative to the signal."""
    model, scaler = system.model, system.scaler
    process = np.sqrt(np.asarray(model.transition.noise_variance()))
    measurement = np.sqrt(np.asarray(model.emission.noise_variance()))
    rows = {
        "states": str(model.state_dim),
        "transition": type(model.transition).__name__,
        "process noise (std of each state, model units)": _numbers(process),
        "emission": type(model.emission).__name__,
        "measurement noise (std, your units)": ", ".join(
            f"{name} {value:.3g}" for name, value in zip(system.output_names, scaler.undo_std(measurement), strict=True)
        ),
        "measurement noise (share of the training signal's std)": _numbers(measurement),
        "states of new records read by": "UKF filter"
        if system.recognition is None
        else f"UKF filter; smoothing by {type(system.recognition).__name__}",
    }
    if isinstance(model.transition, SparseGP):
        rows["inducing points"] = str(model.transition.inducing.shape[-2])
        rows["kernel"] = ", ".join(dict.fromkeys(type(kernel).__name__ for kernel in model.transition.kernels))
        rows["mean function"] = type(model.transition.mean).__name__
    return rows


def describe_training(system: System) -> dict[str, str]:
    """How long training took and what happened on the way."""
    history = system.history
    if history is None:
        return {}
    rows = {"training steps": str(len(history.bound)), "training time": f"{history.seconds:.0f} s"}
    for i, event in enumerate(history.events):
        rows[f"event {i + 1}"] = event
    return rows


def describe_run(*, key: PRNGKeyArray, n_init: int, horizons: tuple[int, ...], samples: int) -> dict[str, str]:
    """The settings of the report itself."""
    return {
        "outputs shown before a free run": f"{n_init} steps",
        "horizons": ", ".join(str(h) for h in horizons),
        "sampled trajectories": str(samples),
        "random key of this report": " ".join(str(int(word)) for word in np.ravel(_words(key))),
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


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
