"""The history of a fit in a file: its arrays as tensors, the rest as JSON."""

from typing import Any

import numpy as np

from gpssm._core._history import History
from gpssm.fitting._store import Tensors

_ARRAYS = ("bound", "gradient_norm", "process_noise", "measurement_noise")


def history_to(history: History, name: str = "history") -> tuple[dict[str, Any], Tensors]:
    """JSON and tensors of a history."""
    tensors = {f"{name}.{field}": np.asarray(getattr(history, field)) for field in _present(history)}
    tensors |= {f"{name}.terms.{term}": np.asarray(values) for term, values in history.terms.items()}
    # As a tensor, because a held-out score may be infinite, which JSON cannot say.
    tensors[f"{name}.held_out"] = np.array([score for _, score in history.held_out], dtype=np.float64)
    return {
        "num_steps": float(history.num_steps),
        "arrays": _present(history),
        "terms": list(history.terms),
        "held_out_steps": [int(step) for step, _ in history.held_out],
        "events": list(history.events),
        "seconds": float(history.seconds),
        "averaged": int(history.averaged),
    }, tensors


def history_from(state: dict[str, Any], tensors: Tensors, name: str = "history") -> History:
    """The history that `history_to` described."""
    scores = tensors[f"{name}.held_out"]
    averaged = state.get("averaged", 1)
    lists = [(state["terms"], str), (state["events"], str), (state["arrays"], str), (state["held_out_steps"], int)]
    if not all(isinstance(found, list) and all(type(item) is kind for item in found) for found, kind in lists):
        raise ValueError("the lists of the history hold other things than names and steps")
    if not (_is_positive(state["num_steps"]) and _is_positive(state["seconds"], or_zero=True) and _is_count(averaged)):
        raise ValueError("the history has impossible numbers of steps or seconds")
    return History(
        num_steps=float(state["num_steps"]),
        terms={term: np.array(tensors[f"{name}.terms.{term}"]) for term in state["terms"]},
        held_out=[(step, float(score)) for step, score in zip(state["held_out_steps"], scores, strict=True)],
        events=list(state["events"]),
        seconds=float(state["seconds"]),
        averaged=averaged,
        **{field: np.array(tensors[f"{name}.{field}"]) for field in state["arrays"] if field in _ARRAYS},
    )


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 1  # pyright: ignore[reportOperatorIssue]


def _is_positive(value: object, *, or_zero: bool = False) -> bool:
    number = type(value) in (int, float) and np.isfinite(value)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return bool(number and (value > 0.0 or (or_zero and value == 0.0)))  # pyright: ignore[reportOperatorIssue]


def history_names(state: dict[str, Any], name: str = "history") -> set[str]:
    """The names of the tensors of a history."""
    arrays, terms = (listed if isinstance(listed, list) else [] for listed in (state.get("arrays"), state.get("terms")))
    return {f"{name}.held_out", *(f"{name}.{field}" for field in arrays), *(f"{name}.terms.{term}" for term in terms)}


def _present(history: History) -> list[str]:
    return [field for field in _ARRAYS if getattr(history, field) is not None]


def summary(history: History | None) -> dict[str, Any] | None:
    """The few numbers that people ask for."""
    if history is None:
        return None
    finite = [score for _, score in history.held_out if np.isfinite(score)]
    ends = [float(value) for value in history.bound[[0, -1]] if np.isfinite(value)] if history.bound.size else []
    return {
        "steps": len(history.bound),
        "first_bound": ends[0] if ends else None,
        "last_bound": ends[-1] if ends else None,
        "last_held_out": finite[-1] if finite else None,
        "seconds": float(history.seconds),
    }
