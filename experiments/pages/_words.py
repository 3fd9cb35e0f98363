"""Sentences and pictures of a page."""

import textwrap


def wrapped(text: str) -> str:
    """Paragraph or list with lines of at most 120 letters, whatever the length of the numbers in it."""
    items: list[str] = []
    for line in text.splitlines():
        if line.startswith("- ") or not items:
            items.append(line)
        else:
            items[-1] += " " + line.strip()
    return "\n".join(
        textwrap.fill(
            item,
            120,
            subsequent_indent="  " if item.startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for item in items
    )


def picture(path: str, caption: str, root: str) -> str:
    """A picture with its caption; `root` leads from the page to the root of the repository."""
    return f"![{caption}]({root}/{path})\n\n*{caption}.*"
