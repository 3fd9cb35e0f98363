"""Rows of X and y as records."""

import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float, Float64
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from gpssm.data import Episode
from gpssm.predict import States


def numbers(estimator: Any, X: Any, y: Any) -> tuple[Float64[np.ndarray, "T P"], Float64[np.ndarray, "..."]]:
    """X and y as numbers; y may have NaN, which scikit-learn refuses unless it looks at the two apart."""
    told = {"ensure_all_finite": "allow-nan", "ensure_2d": False, "dtype": np.float64}
    apart: Any = ({"dtype": np.float64, "ensure_min_samples": 2}, told)
    X, y = validate_data(estimator, X, y, validate_separately=apart)
    check_consistent_length(X, y)
    return X, y


def runs(groups: Any, rows: int) -> Iterator[tuple[str, slice]]:
    """The stretch of rows of each group. One that comes back after another would be two stretches glued together."""
    if groups is None:
        yield "training rows", slice(0, rows)
        return
    labels = np.asarray(groups)
    if labels.shape != (rows,):
        raise ValueError(f"groups has the shape {labels.shape}, but there are {rows} rows: give one label for each")
    bounds = [0, *(np.flatnonzero(labels[1:] != labels[:-1]) + 1).tolist(), rows]
    seen: set[Any] = set()
    for start, stop in pairwise(bounds):
        label = labels[start].item() if hasattr(labels[start], "item") else labels[start]
        if label in seen:
            raise ValueError(
                f"group {label!r} comes back at row {start}; sort the rows so that those of a group stand together, in "
                "the order of time"
            )
        seen.add(label)
        yield f"group {label}", slice(start, stop)


def warn_of_jumps(X: Any) -> None:
    """A frame tells by its index that rows were taken from several places, as cross-validation does."""
    index: Any = getattr(X, "index", None)
    if index is None or getattr(getattr(index, "dtype", None), "kind", "") not in ("i", "u"):
        return
    steps = np.diff(np.asarray(index))
    jumps = np.flatnonzero(steps != 1)
    if len(jumps):
        row = int(jumps[0])
        warnings.warn(
            f"rows {row} and {row + 1} of X are not neighbours (their index is {index[row]} and {index[row + 1]}; "
            f"{len(jumps)} such place{'s' if len(jumps) > 1 else ''}), but are taken as consecutive time steps: pass "
            "groups= to keep records apart, or reset the index",
            UserWarning,
            stacklevel=3,
        )


def record(X: Float64[np.ndarray, "T P"], outputs: Float64[np.ndarray, "T O"], name: str) -> Episode:
    """The rows of one group, under names that no frame could change the order of."""
    # The state before the first row is not measured, and no input follows the last one.
    blank = np.full((1, outputs.shape[1]), np.nan)
    return Episode(
        y=np.concatenate([blank, outputs]),
        u=held(X),
        name=name,
        output_names=[f"y{i}" for i in range(outputs.shape[1])],
        input_names=[f"u{i}" for i in range(X.shape[1])],
    )


def common_start(smoothed: list[States]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and factor of the state before the first row of a record: those of the mixture over the training records."""
    means = np.stack([np.asarray(states.means[0]) for states in smoothed])
    chols = np.stack([np.asarray(states.chols[0]) for states in smoothed])
    if len(means) == 1:
        return means[0], chols[0]
    mean = means.mean(axis=0)
    within = np.einsum("kij,klj->il", chols, chols) / len(means)
    between = (means - mean).T @ (means - mean) / len(means)
    return mean, np.linalg.cholesky(within + between)


def held(inputs: Float[np.ndarray, "T P"]) -> Float[np.ndarray, "T+1 P"]:
    """The inputs, the last of them once more: nothing follows it, and it has no effect."""
    return np.concatenate([inputs, inputs[-1:]])
