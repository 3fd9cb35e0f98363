"""A state-space model in a few words, for people who look at a file or a page."""

import numpy as np

from gpssm.data import Scaler
from gpssm.inference import AbstractRecognition
from gpssm.models import GPSSM, SparseGP
from gpssm.predict._channels import Channels


def describe_state_space(
    model: GPSSM, scaler: Scaler, channels: Channels, recognition: AbstractRecognition | None
) -> dict[str, str]:
    """The parts of the model and their parameters; noise in the user's units and relative to the signal."""
    process = np.sqrt(np.asarray(model.transition.noise_variance()))
    measurement = np.sqrt(np.asarray(model.emission.noise_variance()))
    rows = {
        "states": str(model.state_dim),
        "transition": type(model.transition).__name__,
        "process noise (std of each state, model units)": _numbers(process),
        "emission": type(model.emission).__name__,
        "measurement noise (std, your units)": noise_in_words(channels, scaler.undo_std(measurement)),
        "measurement noise (share of the training signal's std)": _numbers(measurement),
        "states of new records read by": "UKF filter"
        if recognition is None
        else f"UKF filter, or {type(recognition).__name__} if asked for",
    }
    if isinstance(model.transition, SparseGP):
        from gpssm.kernels._describe import describe_kernel

        rows["inducing points"] = str(model.transition.inducing.shape[-2])
        rows["kernel"] = ", ".join(dict.fromkeys(describe_kernel(kernel) for kernel in model.transition.kernels))
        rows["mean function"] = type(model.transition.mean).__name__
    return rows | direct_in_words(channels, scaler)


def direct_in_words(channels: Channels, scaler: Scaler | None) -> dict[str, str]:
    """How much of each input is in each output of the same step, in the user's units; no row where there is no direct
    term."""
    if scaler is None or scaler.direct is None:
        return {}
    shares = scaler.direct * scaler.output_scale[:, None] / scaler.input_scale
    told = [
        f"{name} has "
        + " and ".join(f"{share:.3g} of {led}" for share, led in zip(row, channels.input_names, strict=True))
        for name, row in zip(channels.output_names, shares, strict=True)
    ]
    return {"direct input term (your units)": "; ".join(told)}


def width_in_words(width: float) -> dict[str, str]:
    """By how much the bands of free runs were widened; no row where they were not."""
    return {} if width == 1.0 else {"bands of free runs": f"{width:.3g} times as wide as the model's own"}


def noise_in_words(channels: Channels, std: np.ndarray) -> str:
    """The noise of each output."""
    return ", ".join(f"{name} {value:.3g}" for name, value in zip(channels.output_names, std, strict=True))


def _numbers(values: np.ndarray) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
