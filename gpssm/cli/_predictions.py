"""What all prediction commands do: load a model, read records in its columns, write a table, say so."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gpssm.cli._files import write_csv
from gpssm.cli._options import CsvOptions
from gpssm.cli._outcome import Outcome, UsageError, screen
from gpssm.data import DataError, Episodes
from gpssm.files import load
from gpssm.predict import System
from gpssm.readers import read


def opened(path: Path) -> System:
    """The model in a file; a file that is not there is a matter of the command, not of the file."""
    if not path.exists():
        raise UsageError(f"{path}: there is no such model file; check the path, or make one with gpssm fit")
    return load(path)


def records(
    system: System, files: Sequence[Path], text: CsvOptions, *, time: str | None, episode: str | None
) -> Episodes:
    """Records with the columns the model was fitted to."""
    if not files:
        raise UsageError("--data is missing; name the file with the record")
    episodes = read(
        files,
        outputs=system.output_names,
        inputs=system.input_names,
        time=time,
        episode=episode,
        style=text.style,
    )
    check_step(system, episodes)
    return episodes


def check_step(system: System, episodes: Episodes) -> None:
    """A model knows one time step and no other."""
    if system.dt is None or episodes.dt is None or abs(system.dt - episodes.dt) <= 1e-3 * system.dt:
        return
    raise DataError(
        f"{episodes[0].name}: its time step is {episodes.dt:g}, but the model was fitted to {system.dt:g}; bring the "
        "record to that step first"
    )


def written(
    path: Path, parts: list[tuple[str, dict[str, np.ndarray]]], *, note: str, json: bool, model: Path
) -> Outcome:
    """Write the table and say what is in it."""
    rows = write_csv(path, parts)
    out = screen(json=json)
    out.print(f"[green]Wrote[/] {path}: {rows} rows. {note}")
    out.print(f"Columns: {', '.join(parts[0][1])}", markup=False)
    facts = {"output": str(path), "model": str(model), "rows": rows, "columns": list(parts[0][1]), "note": note}
    return Outcome(facts)
