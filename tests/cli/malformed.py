"""What a malformed input is, and the tables of them that tests go through."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Content = str | bytes | Callable[[Path], None]


@dataclass(frozen=True)
class BadFiles:
    """Files that must be refused with `DataError` in Python and with exit code 3 on the command line."""

    name: str
    files: dict[str, Content]
    mentions: tuple[str, ...]
    columns: dict[str, object] = field(default_factory=dict)
    given: tuple[str, ...] | None = None
    """Paths as given, where they are not the names of the files."""
    code: int = 3

    @property
    def selection(self) -> dict[str, object]:
        """Arguments of `read`."""
        return {"outputs": "y", "inputs": "u"} | self.columns

    def flags(self) -> list[str]:
        """The same on the command line."""
        return [word for key, value in self.selection.items() for word in (f"--{key}", _word(value))]


def _word(value: object) -> str:
    return ",".join(str(v) for v in value) if isinstance(value, list | tuple) else str(value)


def line(i: int) -> str:
    """Row i of a good record: time, input, output."""
    return f"{i / 10:.1f},{(i * 7) % 11 / 10:.1f},{(i * 5) % 13 / 10:.1f}"


def record(
    changes: dict[int, str | None] | None = None, *, rows: int = 20, header: str = "t,u,y", sep: str = ","
) -> str:
    """A good CSV file with some lines replaced; lines are counted as an editor does, None deletes one."""
    lines: list[str | None] = [header, *(line(i).replace(",", sep) for i in range(rows))]
    for number, text in (changes or {}).items():
        lines[number - 1] = text
    return "\n".join(text for text in lines if text is not None) + "\n"


def column(name: str, value: str, *, rows: int = 20) -> str:
    """A record in which one column holds the same cell in every row."""
    names = ["t", "u", "y"]
    body = [line(i).split(",") for i in range(rows)]
    for row in body:
        row[names.index(name)] = value
    return "\n".join(["t,u,y", *(",".join(row) for row in body)]) + "\n"


def cell(name: str, at: int, value: str) -> str:
    """A record with one cell replaced, on line `at`."""
    row = line(at - 2).split(",")
    row[["t", "u", "y"].index(name)] = value
    return record({at: ",".join(row)})
