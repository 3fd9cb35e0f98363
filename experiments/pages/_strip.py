"""The strip of numbers in the README, between two marks."""

from collections.abc import Mapping

from experiments.pages._compare import compare
from experiments.pages._rows import Stored, number
from experiments.pages._spec import Page
from experiments.pages._table import markdown

BEGIN, END = "<!-- numbers: made by `python -m experiments.pages` -->", "<!-- end of numbers -->"


def strip(pages: Mapping[Page, Stored]) -> str:
    """A few of the claims."""
    lines = []
    for page, stored in pages.items():
        for claim in page.claims:
            if claim.strip and (outcome := compare(claim, page, stored)) is not None:
                theirs = f"{number(outcome.theirs)} ({outcome.opponent})"
                link = f"[{page.title}](docs/results/{page.name}.md)"
                blind = claim.blindness or page.blindness
                lines.append([link, claim.measure, theirs, number(outcome.ours), outcome.words(), blind])
    return markdown(["", "measure", "best opponent", "gpssm", "verdict", "blind"], lines)


def with_strip(readme: str, pages: Mapping[Page, Stored]) -> str:
    """The README with today's numbers."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{strip(pages)}\n\n{END}{after}"
