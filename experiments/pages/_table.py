"""Tables in Markdown, and the cells that go into them."""

from collections.abc import Sequence

from experiments.pages._printed import printed
from experiments.pages._rows import Column, Stored, number
from experiments.pages._spec import Beside, Line, Page, Shown


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table; its columns are not aligned, so that a change of one number changes one line."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *lines))


def short(page: Page, stored: Stored, table: Page | Beside | None = None) -> str:
    """The table of a page, or the small one beside it: lines without a single number are left out."""
    table = table or page
    lines = [[_named(line), *(_shown(page, line, shown, stored) for shown in table.shown)] for line in table.lines]
    return markdown(["", *(shown.title for shown in table.shown)], [cells for cells in lines if any(cells[1:])])


def _named(line: Line) -> str:
    """Ours in bold, opponents plain; what was not run here, and what bounds the others, says so."""
    match line.role:
        case "ours":
            return f"**{line.label}**"
        case "printed" | "published" | "floor":
            return f"{line.label} ({line.role})"
        case _:
            return line.label


def _shown(page: Page, line: Line, shown: Shown, stored: Stored) -> str:
    if line.printed:
        value = printed(page.name)[line.printed].get(shown.printed)
        return "" if value is None else f"{value:g}"
    return middle(stored, line.case or shown.case, line.method or shown.method, page.columns[shown.column])


def middle(stored: Stored, case: str, method: str, column: Column) -> str:
    """The mean of a cell, or what its column has instead; nothing if it is empty."""
    values = stored.values(case, method, column)
    return number(column.middle(values)) if values else ""


def with_range(stored: Stored, case: str, method: str, column: Column) -> str:
    """The mean of a cell and the range over seeds and tests."""
    values = stored.values(case, method, column)
    if not values:
        return ""
    varied = column.with_range and min(values) < max(values)
    return number(column.middle(values)) + (f" ({number(min(values))} to {number(max(values))})" if varied else "")
