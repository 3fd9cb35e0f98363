"""Tables of predictions as CSV files, written whole or not at all."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from gpssm.files._atomic import write_atomically
from gpssm.predict import Rollout, States


def prediction_columns(rollout: Rollout, quantiles: Sequence[float], samples: int) -> dict[str, np.ndarray]:
    """Step, time, and for each output its mean, standard deviation, quantiles and sampled trajectories."""
    columns = {"step": np.arange(rollout.start, rollout.start + len(rollout)), "time": rollout.time}
    mean, sd = rollout.mean, rollout.std
    levels = [(level, rollout.quantile(level)) for level in quantiles]
    for i, name in enumerate(rollout.output_names):
        columns[f"{name}_mean"], columns[f"{name}_sd"] = mean[:, i], sd[:, i]
        columns |= {f"{name}_q{_level(level)}": values[:, i] for level, values in levels}
        columns |= {f"{name}_sample{k}": rollout.samples[k, :, i] for k in range(min(samples, len(rollout.samples)))}
    return columns


def state_columns(states: States, names: Sequence[str], dt: float | None) -> dict[str, np.ndarray]:
    """Step, time, hidden states with their standard deviations, and the outputs they explain."""
    steps = np.arange(len(states.means))
    columns: dict[str, np.ndarray] = {"step": steps, "time": steps * (1.0 if dt is None else dt)}
    for i in range(states.means.shape[1]):
        columns[f"state{i}_mean"], columns[f"state{i}_sd"] = states.means[:, i], states.std[:, i]
    for i, name in enumerate(names):
        columns[f"{name}_mean"], columns[f"{name}_sd"] = states.outputs[:, i], states.output_std[:, i]
    return columns


def write_csv(path: Path, parts: Iterable[tuple[str, dict[str, np.ndarray]]], *, digits: int = 9) -> int:
    """Write parts below each other, with a column that names the record if there are several; returns the rows."""
    listed = list(parts)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    several = len(listed) > 1
    writer.writerow([*(["record"] if several else []), *listed[0][1]])
    rows = 0
    for name, columns in listed:
        for row in zip(*columns.values(), strict=True):
            writer.writerow([*([name] if several else []), *(_cell(value, digits) for value in row)])
            rows += 1
    write_atomically(path, text.getvalue().encode())
    return rows


def _level(level: float) -> str:
    return f"{level:.4f}".partition(".")[2].rstrip("0").ljust(3, "0")


def _cell(value: np.generic, digits: int) -> str:
    return str(int(value)) if isinstance(value, np.integer) else f"{float(value):.{digits}g}"
