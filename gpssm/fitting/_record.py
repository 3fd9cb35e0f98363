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
    return History(
        num_steps=float(state["num_steps"]),
        terms={str(term): np.array(tensors[f"{name}.terms.{term}"]) for term in state["terms"]},
        held_out=[(int(step), float(score)) for step, score in zip(state["held_out_steps"], scores, strict=True)],
        events=[str(event) for event in state["events"]],
        seconds=float(state["seconds"]),
        averaged=max(1, int(state.get("averaged", 1))),
        **{field: np.array(tensors[f"{name}.{field}"]) for field in state["arrays"] if field in _ARRAYS},
    )


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
