"""The numbers of outputs and inputs: what is missing, what is mended, and what is beyond use."""

import numpy as np
from jaxtyping import Float64

from gpssm.data import DataError, Recipe
from gpssm.data._errors import LARGEST_VALUE
from gpssm.readers._faults import Faults
from gpssm.readers._table import Table


def output_values(table: Table, recipe: Recipe, faults: Faults) -> Float64[np.ndarray, "T O"]:
    """The outputs, NaN where missing."""
    columns = []
    for name in recipe.outputs:
        values = np.full(len(table), np.nan)
        with faults.noted():
            values = table.values(name, "output")
            _check_size(table, name, "output", values, "leave the cell empty if the measurement is missing")
        columns.append(values - recipe.offsets_by_name.get(name, 0.0))
    return np.stack(columns, axis=1)


def input_values(table: Table, recipe: Recipe, faults: Faults) -> Float64[np.ndarray, "T P"]:
    """The inputs, which must be known at every step; those that are missing are held if the recipe says so."""
    columns = []
    for name in recipe.inputs:
        values = np.zeros(len(table))
        with faults.noted():
            values = _known(table, name, table.values(name, "input"), hold=recipe.hold_inputs)
            _check_size(table, name, "input", values, "inputs must be known at every step: correct it")
        columns.append(values - recipe.offsets_by_name.get(name, 0.0))
    return np.stack(columns, axis=1) if columns else np.zeros((len(table), 0))


def _known(table: Table, name: str, values: Float64[np.ndarray, " T"], *, hold: bool) -> Float64[np.ndarray, " T"]:
    missing = np.isnan(values)
    if not missing.any():
        return values
    row, count = int(np.argmax(missing)), int(missing.sum())
    more = f" (and {count - 1} more)" if count > 1 else ""
    where = f"{table.source}: column '{name}' (input), {table.where(row)}: the value is missing{more}"
    if not hold:
        raise DataError(
            f"{where}; inputs must be known at every step: interpolate, or cut the record there, or, if the system "
            "felt the value before, say hold_inputs=True (--hold-inputs)"
        )
    if missing[0]:
        raise DataError(f"{where}, and there is none before it to hold: begin the record later, or fill it in")
    # The row of the last known value, for each row.
    last = np.maximum.accumulate(np.where(missing, 0, np.arange(len(values))))
    return values[last]


def _check_size(table: Table, name: str, role: str, values: Float64[np.ndarray, " T"], fix: str) -> None:
    for row in np.flatnonzero(np.isinf(values) | (np.abs(values) > LARGEST_VALUE))[:1]:
        what = "infinite" if np.isinf(values[row]) else f"{values[row]:g}, beyond anything measurable"
        raise DataError(
            f"{table.source}: column '{name}' ({role}), {table.where(int(row))}: the value is {what}; {fix}"
        )
