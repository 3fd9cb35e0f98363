"""What all commands that use a model do: load it, read records in its columns, write a table, say so."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from gpssm.cli._options import Draws
from gpssm.cli._outcome import Outcome, UsageError, screen, tell
from gpssm.data import Recipe
from gpssm.files import load
from gpssm.files._atomic import write_atomically
from gpssm.predict import AbstractPredictor, Rollout, States, System

Columns = dict[str, np.ndarray]
"""Of a table, by name."""

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""With one of these a spreadsheet's formula begins, or a cell that hides one."""


def opened(path: Path) -> AbstractPredictor:
    """The model in a file; a file that is not there is a matter of the command, not of the file."""
    if not path.exists():
        raise UsageError(f"{path}: there is no such model file; check the path, or make one with gpssm fit")
    return load(path)


def with_states(system: AbstractPredictor, path: Path, need: str) -> System:
    """The model, if it has hidden states; `need` says what for, and what else could be done."""
    if isinstance(system, System):
        return system
    raise UsageError(
        f"{path}: this model ({type(system).__name__}) has no hidden states, and {need}; gpssm fit makes one with "
        "--method polished, variational, output-error or linear"
    )


def without_inputs(system: AbstractPredictor, steps: int | None) -> None:
    """--steps is for models that nothing acts on."""
    if steps is not None and system.input_names:
        raise UsageError(f"this model has inputs ({', '.join(system.input_names)}); give them with --inputs FILE")


def written(
    path: Path,
    parts: list[tuple[str, Columns]],
    *,
    note: str,
    json: bool,
    model: Path,
    overrides: Sequence[str],
) -> Outcome:
    """Write the table and say what is in it."""
    rows, names = write_csv(path, parts), list(parts[0][1])
    out = screen(json=json)
    tell(out, f"{path}: {rows} rows. {note}", mark="Wrote", style="green")
    tell(out, f"Columns: {', '.join(names)}")
    facts = {"output": str(path), "model": str(model), "rows": rows, "columns": names, "note": note}
    return Outcome(facts | {"overrides": list(overrides)})


def prediction_columns(rollout: Rollout, draws: Draws, recipe: Recipe) -> Columns:
    """Step, time, and for each output its mean, standard deviation, quantiles and sampled trajectories. What was
    subtracted from an output when it was read is added again, so that the table compares with the file."""
    columns = {"step": np.arange(rollout.start, rollout.start + len(rollout)), "time": rollout.time}
    mean, sd = rollout.mean, rollout.std
    levels = [(level, rollout.quantile(level)) for level in draws.levels()]
    count = min(draws.samples, len(rollout.samples))
    for i, name in enumerate(rollout.output_names):
        offset = recipe.offsets_by_name.get(name, 0.0)
        columns[f"{name}_mean"], columns[f"{name}_sd"] = mean[:, i] + offset, sd[:, i]
        columns |= {f"{name}_q{_level(level)}": values[:, i] + offset for level, values in levels}
        columns |= {f"{name}_sample{k}": rollout.samples[k, :, i] + offset for k in range(count)}
    return columns


def state_columns(states: States, names: Sequence[str], dt: float | None, recipe: Recipe) -> Columns:
    """Step, time, hidden states with their standard deviations, and the outputs they explain."""
    steps, size = np.arange(len(states.means)), states.means.shape[1]
    columns: Columns = {"step": steps, "time": steps * (1.0 if dt is None else dt)}
    # An output may itself be called "state0".
    label = "hidden_state" if any(f"state{i}" in names for i in range(size)) else "state"
    for i in range(size):
        columns[f"{label}{i}_mean"], columns[f"{label}{i}_sd"] = states.means[:, i], states.std[:, i]
    for i, name in enumerate(names):
        offset = recipe.offsets_by_name.get(name, 0.0)
        columns[f"{name}_mean"], columns[f"{name}_sd"] = states.outputs[:, i] + offset, states.output_std[:, i]
    return columns


def write_csv(path: Path, parts: Iterable[tuple[str, Columns]], *, digits: int = 9) -> int:
    """Write parts below each other, with a column that names the record if there are several; returns the rows.

    Names are written so that a spreadsheet takes them for text; numbers stay numbers.
    """
    listed = list(parts)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    several = len(listed) > 1
    writer.writerow([*(["record"] if several else []), *map(guarded, listed[0][1])])
    rows = 0
    for name, columns in listed:
        for row in zip(*columns.values(), strict=True):
            writer.writerow([*([guarded(name)] if several else []), *(_cell(value, digits) for value in row)])
            rows += 1
    write_atomically(path, text.getvalue().encode())
    return rows


def guarded(name: str) -> str:
    """The name on one line, and after an apostrophe if a spreadsheet would run it: names come from files of others."""
    line = name.replace("\r", " ").replace("\n", " ")
    return f"'{line}" if name.startswith(_FORMULAS) else line


def _level(level: float) -> str:
    return f"{level:.4f}".partition(".")[2].rstrip("0").ljust(3, "0")


def _cell(value: np.generic, digits: int) -> str:
    return str(int(value)) if isinstance(value, np.integer) else f"{float(value):.{digits}g}"
