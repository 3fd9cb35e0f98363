"""Numbers written as text, read strictly: what a logger writes, and nothing that only looks like it."""

import re
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64, Shaped

from gpssm.data import DataError

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?(inf|infinity|∞)", re.IGNORECASE)
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([, ']\d{3})+(\.\d*)?", re.ASCII)
_WITH_UNIT = re.compile(r"([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)\s*[^\d\s.,;+-]\S*", re.ASCII)
_DIGITS = re.compile(r"[+-]?[\d.]")
_PER = re.compile(r"1\s*/\s*[^\W\d]")  # 1/min
_FORTRAN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[dD][+-]?\d+", re.ASCII)


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written."""

    decimal: str = "."
    missing: tuple[str, ...] = ("", "nan", "na", "n/a", "null", "none")
    """Words, in lower case, that stand for a missing value."""


@runtime_checkable
class Placed(Protocol):
    """What is needed to say where a cell stands."""

    @property
    def source(self) -> str:
        """File or object."""
        ...

    @property
    def numbers(self) -> NumberFormat:
        """How numbers are written in it."""
        ...

    def where(self, row: int) -> str:
        """The place of a row."""
        ...


def parse_numbers(cells: Shaped[np.ndarray, " T"], table: Placed, name: str, role: str) -> Float64[np.ndarray, " T"]:
    """Cells as numbers, NaN where missing; the first cell that is neither is refused."""
    if cells.dtype.kind in "iuf":
        with np.errstate(over="ignore"):
            return np.asarray(cells, dtype=np.float64)
    if cells.dtype.kind != "O":
        raise DataError(
            f"{table.source}: column '{name}' ({role}) holds {_kind(cells)}, not real numbers; convert it to "
            "numbers first"
        )
    values = np.empty(len(cells), dtype=np.float64)
    first: DataError | None = None
    others: list[int] = []
    for row, cell in enumerate(cells):
        try:
            values[row] = _number(cell, table, name, role, row)
        except DataError as error:
            if first is not None:
                others.append(row)
            first = first or error
    if first is None:
        return values
    if not others:
        raise first
    listed = ", ".join(table.where(row) for row in others[:5]) + (", ..." if len(others) > 5 else "")
    raise DataError(f"{first} ({len(others)} more such cell{'s' if len(others) > 1 else ''}: {listed})")


def is_word(cell: str, numbers: NumberFormat) -> bool:
    """Whether a cell holds something that is neither a number nor missing, nor a date or the like."""
    text = cell.strip()
    plain = text if numbers.decimal == "." else _with_point(text, numbers.decimal)
    if _PER.match(text):
        return True
    number = plain is not None and _NUMBER.fullmatch(plain)
    return not (number or _INFINITE.fullmatch(text) or text.casefold() in numbers.missing or _DIGITS.match(text))


def _kind(cells: np.ndarray) -> str:
    kinds = {"b": "truth values", "c": "complex numbers", "M": "dates", "m": "durations"}
    return kinds.get(cells.dtype.kind, f"entries of type {cells.dtype}")


def _number(cell: object, table: Placed, name: str, role: str, row: int) -> float:
    if cell is None:
        return np.nan
    if isinstance(cell, int | float | np.integer | np.floating) and not isinstance(cell, bool):
        return float(cell)
    if not isinstance(cell, str):
        hint = "write 1 and 0 instead of truth values" if isinstance(cell, bool) else "convert it to a number"
        raise _complaint(cell, table, name, role, row, hint)
    text = cell.strip()
    if text.casefold() in table.numbers.missing:
        return np.nan
    plain = text if table.numbers.decimal == "." else _with_point(text, table.numbers.decimal)
    if plain is not None and _NUMBER.fullmatch(plain):
        return float(plain)
    if _INFINITE.fullmatch(text):
        return -np.inf if text.startswith("-") else np.inf
    raise _complaint(cell, table, name, role, row, _hint(text, table.numbers.decimal))


def _with_point(text: str, decimal: str) -> str | None:
    """The number with a decimal point; None where a point stands although the decimal sign is another."""
    return None if "." in text else text.replace(decimal, ".")


def _complaint(cell: object, table: Placed, name: str, role: str, row: int, hint: str) -> DataError:
    shown = repr(cell) if len(repr(cell)) <= 40 else repr(cell)[:37] + "..."
    return DataError(f"{table.source}: column '{name}' ({role}), {table.where(row)}: {shown} is not a number; {hint}")


def _hint(text: str, decimal: str) -> str:
    if decimal != "." and "." in text:
        return f"the decimal sign was said to be '{decimal}', but this number has a point: write all in one way"
    if _THOUSANDS.fullmatch(text) and decimal == "." and not (text.count(",") == 1 and "." not in text):
        return "write numbers without separators between thousands"
    if decimal == "." and _WITH_COMMA.fullmatch(text):
        return "if this is a decimal comma, say so with decimal=',' (on the command line: --decimal ,)"
    if _FORTRAN.fullmatch(text):
        return "write the exponent with e, as in 1e5"
    if _WITH_UNIT.fullmatch(text):
        return "leave the unit out of the cells; it can stand in the column's name"
    if text.casefold() in ("true", "false", "on", "off", "yes", "no"):
        return "write 1 and 0 instead of words"
    return "correct the cell, or leave it empty if the value is missing"
