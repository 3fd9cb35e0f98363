"""The page of one experiment, with the headings that all of them have."""

import re

from experiments.pages._compare import compare
from experiments.pages._printed import source
from experiments.pages._provenance import provenance
from experiments.pages._rows import Stored
from experiments.pages._spec import Page
from experiments.pages._table import middle, short
from experiments.pages._words import picture, wrapped

NUMBER = re.compile(r"\[\[([^|\]]+)\|([^|\]]+)\|([^|\]]+)\]\]")


def written(page: Page, stored: Stored) -> str:
    """Setting, result, what one sees, how blind."""
    parts = [f"# {page.title}", "## Setting", wrapped(page.setting), "## Result"]
    for path, caption in list(page.figures.items())[:1]:
        parts.append(picture(path, caption, "../.."))
    parts.append(short(page, stored))
    if told := source(page.name):
        parts.append(wrapped(f"Not run here: {told}"))
    if verdicts := _verdicts(page, stored):
        parts.append(verdicts)
    more = ", pictures" if len(page.figures) > 1 else ""
    parts.append(f"[All numbers](tables/{page.name}.md), protocol{more} ([CSV](tables/{page.name}.csv)).")
    parts += ["## What one sees", filled(page.seen, page, stored)]
    if page.more:
        parts.append(filled(page.more, page, stored))
    if page.beside is not None:
        beside = page.beside
        parts += [f"## {beside.title}", filled(beside.words, page, stored), short(page, stored, beside)]
    parts += ["## How blind", filled(page.blind, page, stored), wrapped(provenance(stored))]
    return "\n\n".join(parts) + "\n"


def _verdicts(page: Page, stored: Stored) -> str:
    found = [(claim, compare(claim, page, stored)) for claim in page.claims]
    words = [f"- {claim.measure}: {o.words()} against {o.opponent}" for claim, o in found if o is not None]
    return wrapped("\n".join(words))


def filled(text: str, page: Page, stored: Stored) -> str:
    """Sentences with the numbers that they ask for."""

    def found(match: re.Match[str]) -> str:
        case, method, column = (" ".join(part.split()) for part in match.groups())
        value = middle(stored, case, method, page.columns[column])
        if not value:
            raise KeyError(f"{page.name}: no rows for {match.group()}")
        return value

    return wrapped(NUMBER.sub(found, text))
