"""CSV files: delimiter, header, widths of rows, encoding. Nothing is guessed that could be guessed wrongly."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpssm.data import DataError
from gpssm.readers._faults import Faults
from gpssm.readers._numbers import _NUMBER, NumberFormat, is_word
from gpssm.readers._open import opened
from gpssm.readers._table import Table
from gpssm.readers._words import without_words

_DELIMITERS = (",", ";", "\t")
_NAMES = {",": "a comma", ";": "a semicolon", "\t": "a tab"}


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written; the delimiter is found out unless it is given."""

    delimiter: str | None = None
    decimal: str = "."

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise DataError(f"decimal is {self.decimal!r}; the decimal sign is '.' or ','")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in "\"'\r\n"):
            raise DataError(f"delimiter is {self.delimiter!r}; it must be a single character, such as ',' or ';'")
        if self.delimiter == self.decimal:
            raise DataError(f"delimiter and decimal sign are both {self.decimal!r}; no file can be read that way")


def read_table(path: Path, style: CsvFormat, shown: str, skip: int = 0, faults: Faults | None = None) -> Table:
    """The cells of a file as text; `shown` is what complaints call it, `skip` the rows of words below the header.

    `faults` takes what does not keep the rest from being looked at; without it that is refused at once.
    """
    text = _text(path, shown)
    skipped = 0
    lines = io.StringIO(text, newline=None).read().split("\n")
    while skipped < len(lines) and (not lines[skipped].strip() or lines[skipped].lstrip().startswith("#")):
        skipped += 1
    if skipped == len(lines):
        raise DataError(f"{shown}: the file is empty; it needs a header line with column names and rows of numbers")
    delimiter = style.delimiter or _delimiter(lines[skipped:], shown, skipped + 1, style.decimal)
    if style.decimal == "," and delimiter == ",":
        raise DataError(
            f"{shown}, line {skipped + 1}: columns are separated by commas, so a decimal comma cannot be told "
            "from them; "
            "save the file with ';' between columns"
        )
    rows, places = _rows(lines, delimiter, skipped, shown)
    header = tuple(name.strip() for name in rows[0])
    _check_header(header, delimiter, shown, places[0])
    if len(rows) == 1:
        raise DataError(f"{shown}: there are no rows below the header on line {places[0]}; add the samples")
    numbers = NumberFormat(decimal=style.decimal)
    found = Faults() if faults is None else faults
    below = without_words(rows[1:], places[1:], skip, lambda cell: is_word(cell, numbers), shown, found)
    if faults is None:
        found.complain()
    if not below.rows:
        raise DataError(f"{shown}: there are no rows of numbers below the header on line {places[0]}; add the samples")
    body = [_fitted(row, header, shown, place, delimiter) for row, place in zip(below.rows, below.places, strict=True)]
    columns = np.array(body, dtype=object)
    return Table(
        source=shown,
        names=header,
        cells=tuple(columns[:, i] for i in range(len(header))),
        places=np.array(below.places),
        numbers=numbers,
        units=(*below.units, *[""] * len(header))[: len(header)] if below.units else (),
    )


def _text(path: Path, shown: str) -> str:
    try:
        with opened(path, shown) as file:
            data = file.read()
    except OSError as error:
        raise DataError(f"{shown}: cannot be read ({error.strerror}); check the disk") from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{shown}: the file is written in UTF-16; save it as CSV in UTF-8")
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise DataError(
            f"{shown}, line {line}: a zero byte, so this is no text file, or a damaged one; export it as CSV"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(f"{shown}, line {line}: not valid UTF-8 text; save the file as CSV in UTF-8") from error


def _delimiter(lines: list[str], shown: str, line: int, decimal: str) -> str:
    header, *below = lines
    found = [sign for sign in _DELIMITERS if sign in header and _separates(sign, header, shown, line)]
    if len(found) > 1:
        kinds = " and ".join(_NAMES[sign] for sign in found)
        raise DataError(
            f"{shown}, line {line}: the header holds {kinds}, and either could separate the columns; say which with "
            "delimiter= (on the command line: --delimiter)"
        )
    if found:
        return found[0]
    # A single column may have blanks in its name, as in `speed [m / s]`; numbers have none.
    first = next((row for row in below if row.strip()), header)
    if "|" in header or len(header.split()) > 1 < len(first.split()):
        sign = "|" if "|" in header else "blanks"
        raise DataError(
            f"{shown}, line {line}: columns seem to be separated by {sign}, but a comma, a semicolon or a tab is "
            "expected; save the file with one of them, or name a single separating character with --delimiter"
        )
    # A single column: whatever its numbers do not hold.
    return "," if decimal == "." else ";"


def _separates(sign: str, header: str, shown: str, line: int) -> bool:
    try:
        # The separator may stand within quotation marks alone.
        return len(next(csv.reader([header], delimiter=sign))) > 1
    except csv.Error as error:
        raise DataError(f"{shown}, line {line}: {_reason(error)}") from error


def _reason(error: csv.Error) -> str:
    if "field larger" in str(error):
        return (
            f"a single cell has more than {csv.field_size_limit()} characters; close the quotation mark if one is open,"
            " or name the delimiter with delimiter= (--delimiter)"
        )
    return f"{error}; check the quotation marks"


def _rows(lines: list[str], delimiter: str, skipped: int, shown: str) -> tuple[list[list[str]], list[int]]:
    reader = csv.reader((line + "\n" for line in lines[skipped:]), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    places: list[int] = []
    blank: int | None = None
    first = skipped + 1
    try:
        for row in reader:
            line, first = first, skipped + reader.line_num + 1
            if not row or (len(row) == 1 and not row[0].strip()):
                blank = blank or line
                continue
            if blank is not None:
                raise DataError(
                    f"{shown}, line {blank}: an empty line between rows; delete it, or put what follows into a file of "
                    "its own if it is another record"
                )
            if first > line + 1:
                raise DataError(
                    f"{shown}, line {line}: a quoted cell goes on over several lines; close the quotation mark"
                )
            rows.append(row)
            places.append(line)
    except csv.Error as error:
        raise DataError(f"{shown}, line {skipped + reader.line_num}: {_reason(error)}") from error
    return rows, places


def _check_header(header: tuple[str, ...], delimiter: str, shown: str, line: int) -> None:
    if all(not name or _NUMBER.fullmatch(name.replace(",", ".") if delimiter != "," else name) for name in header):
        raise DataError(
            f"{shown}, line {line}: the first line holds numbers, not column names; put a header line such as "
            f"{delimiter.join(['u', 'y', 'v', 'w'][: len(header)]) if len(header) <= 4 else 'u,y'} above it"
        )


def _fitted(row: list[str], header: tuple[str, ...], shown: str, line: int, delimiter: str) -> list[str]:
    width = len(header)
    if len(row) > width and all(not cell.strip() for cell in row[width:]):
        return row[:width]  # loggers that end each line with a delimiter
    if len(row) == width:
        return row
    hint = "correct the line"
    if delimiter == "," and len(row) == 2 * width:
        hint = "if commas are decimal signs here, save the file with ';' between columns and use --decimal ,"
    elif len(row) < width:
        hint = "was the file cut off? complete the line, with empty cells where outputs are missing, or delete it"
    raise DataError(f"{shown}, line {line}: {len(row)} cells, but the header names {width} columns; {hint}")
