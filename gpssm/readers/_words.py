"""Rows of words below the header of a text file, as loggers write them: units, or what a channel is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpssm.readers._faults import Faults


@dataclass(frozen=True)
class Header:
    """Rows of a text file below its header."""

    rows: list[list[str]]
    places: list[int]
    """The line on which each stands."""
    units: tuple[str, ...] = ()


def without_words(
    rows: list[list[str]], places: list[int], skip: int, is_word: Callable[[str], bool], shown: str, faults: Faults
) -> Header:
    """The rows of numbers, after `skip` rows of words; the first of those holds units.

    Rows of words that nobody announced are a fault, and so is a row of numbers that would be skipped: a sample must not
    get lost because a setting was meant for another file. What is left is what it would be without the fault, so that
    others can be looked for.
    """
    words = next((i for i, row in enumerate(rows[:skip]) if not _words(row, is_word)), skip)
    if words < min(skip, len(rows)):
        faults.add(
            f"{shown}, line {places[words]}: this row holds numbers, and skip_rows={skip} (--skip-rows {skip}) would "
            "lose it; leave that out, or give the number of rows of words below the header"
        )
    units = tuple(rows[0]) if words and rows else ()
    rows, places = rows[words:], places[words:]
    found = 0
    while found + 1 < len(rows) and _stands_above_numbers(rows, found, is_word):
        found += 1
    if found:
        shown_row = ", ".join(repr(cell) for cell in rows[0][:4])
        faults.add(
            f"{shown}, line {places[0]}: a row of words below the header ({shown_row}); if they are units or remarks, "
            f"skip {'them' if found > 1 else 'it'} with skip_rows={skip + found} (--skip-rows {skip + found})"
        )
        rows, places = rows[found:], places[found:]
    return Header(rows, places, units)


def _words(row: Sequence[str], is_word: Callable[[str], bool]) -> bool:
    told = [cell for cell in row if cell.strip()]
    return all(is_word(cell) for cell in told)


def _stands_above_numbers(rows: list[list[str]], at: int, is_word: Callable[[str], bool]) -> bool:
    """Whether all cells of a row are words, where most of the rows to come hold numbers in such a column."""
    row, below = rows[at], rows[at + 1 : at + 12]
    told = [i for i, cell in enumerate(row) if cell.strip()]
    if not told or not _words(row, is_word):
        return False
    return any(2 * sum(len(other) > i and not is_word(other[i]) for other in below) > len(below) for i in told)
