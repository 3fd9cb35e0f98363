"""Pieces of a page. Every text goes through `html.escape`; only what is built here is markup."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from gpssm.reporting._style_sheet import STYLE

_SAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})

# Nothing may be fetched: the page says so to the browser, which then enforces it.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)

_DRAW = """
for (const box of document.querySelectorAll("div.plot")) {
  const figure = JSON.parse(document.getElementById(box.id + "-data").textContent);
  Plotly.newPlot(box, figure.data, figure.layout, {responsive: true, displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"], toImageButtonOptions: {format: "svg"}});
}
"""


def text(value: object) -> str:
    """Plain text."""
    return html.escape(str(value))


def paragraph(value: str, *, kind: str = "") -> str:
    """A paragraph of plain text."""
    mark = f' class="{kind}"' if kind else ""
    return f"<p{mark}>{text(value)}</p>"


def table(header: Sequence[str], rows: Iterable[Sequence[object]], *, kind: str = "numbers") -> str:
    """A table of plain texts; the first column names the row."""
    head = "".join(f"<th scope='col'>{text(cell)}</th>" for cell in header)
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td>{text(cell)}</td>" for cell in others)
        lines.append(f"<tr><th scope='row'>{text(first)}</th>{cells}</tr>")
    top = f"<thead><tr>{head}</tr></thead>" if header else ""
    return f'<div class="scroll"><table class="{kind}">{top}<tbody>{"".join(lines)}</tbody></table></div>'


def pairs(rows: Mapping[str, str]) -> str:
    """A table of names and values."""
    return table((), rows.items(), kind="pairs")


@dataclass
class Page:
    """A page that is being put together, section by section."""

    title: str
    _sections: list[tuple[str, str, list[str]]] = field(default_factory=list)
    _figures: int = 0

    def section(self, anchor: str, title: str, lead: str = "") -> None:
        """Begin a section; `lead` says what to look for."""
        self._sections.append((anchor, title, [paragraph(lead, kind="lead")] if lead else []))

    def add(self, markup: str) -> None:
        """Add markup that was built here to the present section."""
        self._sections[-1][2].append(markup)

    def figure(self, figure: go.Figure, caption: str) -> None:
        """Add a figure."""
        self._figures += 1
        name = f"figure-{self._figures}"
        content = str(figure.to_json()).translate(_SAFE)
        self.add(
            f'<figure><div class="plot" id="{name}" style="height:{int(figure.layout.height)}px"></div>'
            f"<figcaption>{text(caption)}</figcaption>"
            f'<script type="application/json" id="{name}-data">{content}</script></figure>'
        )

    def render(self) -> str:
        """The whole document."""
        links = "".join(f'<a href="#{anchor}">{text(title)}</a>' for anchor, title, _ in self._sections)
        body = "".join(
            f'<section id="{anchor}"><h2>{text(title)}</h2>{"".join(parts)}</section>'
            for anchor, title, parts in self._sections
        )
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{text(self.title)}</title><style>{STYLE}</style><script>{get_plotlyjs()}</script></head>"
            f"<body><main><h1>{text(self.title)}</h1><nav>{links}</nav>{body}</main><script>{_DRAW}</script></body></html>\n"
        )
