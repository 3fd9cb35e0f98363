"""Public records as they are published, turned into CSV files with named columns."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gpssm.cli._catalogue import PublicSet
from gpssm.cli._predictions import write_csv
from gpssm.data import DataError
from gpssm.readers._csv import CsvFormat, read_table
from gpssm.readers._mat import mat_variables

Records = list[tuple[str, list[np.ndarray]]]
"""Name of each record with its columns, inputs first."""


def convert_set(entry: PublicSet, file: Path, output: Path) -> int:
    """Check that the file is the known one, and write its records below each other; returns the rows."""
    if not file.is_file():
        raise DataError(f"{file}: there is no such file; fetch it with gpssm datasets fetch {entry.name}")
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != entry.sha256:
        raise DataError(
            f"{file}: its sha256 is {found}, but that of {entry.file} is {entry.sha256}; it is another file, or a "
            "damaged "
            f"one: fetch it again with gpssm datasets fetch {entry.name}"
        )
    records = _READERS[entry.name](file)
    names = (*entry.inputs, *entry.outputs)
    parts = []
    for label, columns in records:
        labelled = {} if entry.episode is None else {entry.episode: np.full(len(columns[0]), int(label))}
        parts.append((label, labelled | dict(zip(names, columns, strict=True))))
    whole = {name: np.concatenate([part[name] for _, part in parts]) for name in parts[0][1]}
    return write_csv(output, [(entry.name, whole)], digits=17)


def _actuator(file: Path) -> Records:
    content = mat_variables(file, str(file), ("u", "p"))
    return [("1", [_vector(content["u"]), _vector(content["p"])])]


def _drive(file: Path) -> Records:
    content = mat_variables(file, str(file), [f"{sign}{i}" for i in (1, 2, 3) for sign in "uz"])
    return [(str(i), [_vector(content[f"u{i}"]), _vector(content[f"z{i}"])]) for i in (1, 2, 3)]


def _two_columns(file: Path) -> Records:
    table = np.loadtxt(file)
    return [("1", [table[:, 0], table[:, 1]])]


def _gas_furnace(file: Path) -> Records:
    table = read_table(file, CsvFormat(), str(file))
    return [("1", [table.values("InputGasRate", "input"), table.values("CO2", "output")])]


def _cascaded_tanks(file: Path) -> Records:
    table = read_table(file, CsvFormat(), str(file))
    pairs = (("1", "uEst", "yEst"), ("2", "uVal", "yVal"))
    return [(label, [table.values(u, "input"), table.values(y, "output")]) for label, u, y in pairs]


def _silverbox(file: Path) -> Records:
    table = read_table(file, CsvFormat(), str(file))
    return [("1", [table.values("V1", "input"), table.values("V2", "output")])]


def _vector(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=np.float64).reshape(-1)


_READERS: dict[str, Callable[[Path], Records]] = {
    "actuator": _actuator,
    "ballbeam": _two_columns,
    "drive": _drive,
    "dryer": _two_columns,
    "gas_furnace": _gas_furnace,
    "cascaded_tanks": _cascaded_tanks,
    "silverbox": _silverbox,
}
