"""The whole of a results file: a page with every case and method, its protocol and choices, and the same as CSV."""

import csv
import io

from experiments.pages._provenance import provenance
from experiments.pages._rows import Stored
from experiments.pages._spec import Page
from experiments.pages._table import markdown, with_range
from experiments.pages._words import picture, wrapped


def full_page(page: Page, stored: Stored) -> str:
    """Every case and method; columns without numbers are left out."""
    keys = stored.cells()
    cells = {name: [with_range(stored, *key, column) for key in keys] for name, column in page.columns.items()}
    cells = {name: column for name, column in cells.items() if any(column)}
    lines = [[*key, *(column[i] for column in cells.values())] for i, key in enumerate(keys)]
    parts = [
        "---\norphan: true\n---",
        f"# {page.title}: all numbers",
        wrapped(
            f"Means over seeds (and tests), with their range in brackets. [Back to the page](../{page.name}.md); the "
            f"same as [CSV]({page.name}.csv). Every single number is in `results/{page.source}.json`."
        ),
        markdown(["case", "method", *cells], lines),
        "## Protocol",
        wrapped("\n".join(f"- {word}: {told}" for word, told in stored.protocol.items() if word != "quick")),
        wrapped(provenance(stored)),
    ]
    if choices := stored.content.get("choices"):
        parts += ["## Choices that were made on training data", "\n".join(f"- {k}: `{v}`" for k, v in choices.items())]
    if more := [picture(path, caption, "../../..") for path, caption in list(page.figures.items())[1:]]:
        parts += ["## More pictures", *more]
    return "\n\n".join(parts) + "\n"


def full_csv(page: Page, stored: Stored) -> str:
    """One line for each case, method and column."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["case", "method", "measure", "mean", "smallest", "largest", "numbers"])
    for case, method in stored.cells():
        for name, column in page.columns.items():
            if values := stored.values(case, method, column):
                numbers = [f"{x:.6g}" for x in (column.middle(values), min(values), max(values))]
                writer.writerow([case, method, name, *numbers, len(values)])
    return text.getvalue()
