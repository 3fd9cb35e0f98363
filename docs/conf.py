"""Sphinx configuration. The API pages are made from what the package exports, and docstrings are plain text."""

import importlib.metadata
import re
import sys
from pathlib import Path

import imagesize
import jaxtyping
from docutils import nodes
from numpy.typing import ArrayLike, DTypeLike
from sphinx.util.typing import stringify_annotation

sys.path.insert(0, str(Path(__file__).parent))
import public_api

project = "gpssm"
author = "the gpssm authors"
project_copyright = author
release = importlib.metadata.version("gpssm")

# MathJax lies beside the pages, so that formulas can be read where there is no network.
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx-mathjax-offline"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"gpssm {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True


def _fill_api_pages(app, docname: str, source: list[str]) -> None:
    if docname.startswith("api/"):
        source[0] = app.builder.templates.render_string(source[0], {"section": public_api.section})


# Aliases that would otherwise be spelt out, over several lines each.
_SHORT_TYPES = {
    stringify_annotation(ArrayLike, "smart"): "ArrayLike",
    stringify_annotation(DTypeLike, "smart"): "DTypeLike",
    "ArrayLike | tuple[~typing.Any, ...]": "ArrayLike",
    stringify_annotation(jaxtyping.ArrayLike, "smart"): "ArrayLike",
    stringify_annotation(jaxtyping.PRNGKeyArray, "smart"): "PRNGKeyArray",
    "jaxlib._jax.Array": "Array",
    "jax.Array": "Array",
}


def _short_types(text: str | None) -> str | None:
    for long, short in _SHORT_TYPES.items():
        text = text and text.replace(long, short)
    return text


def _shorten_signature(app, what: str, name: str, obj: object, options: object, signature: str, returned: str):
    return _short_types(signature), _short_types(returned)


_LITERAL = re.compile(r"(`+[^`]*`+)")


def _escape(line: str) -> str:
    """Text as it stands: stars, bars and trailing underscores are mathematics here, not markup."""
    parts = _LITERAL.split(line)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([*|\\])", r"\\\1", parts[i])
        parts[i] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", parts[i])
    return "".join(parts)


def _is_prose(paragraph: list[str]) -> bool:
    continuation = "  " if paragraph[0].startswith("- ") else ""
    return all(
        line.startswith("- ") or (line.startswith(continuation) and not line[len(continuation) :].startswith(" "))
        for line in paragraph
    )


def _plain_text(app, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Paragraphs and lists are set as such, anything laid out by hand is shown as it was typed.

    Arguments that the docstring does not speak of follow, with what they mean everywhere.
    """
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    rendered: list[str] = []
    for paragraph in filter(None, paragraphs):
        if _is_prose(paragraph):
            rendered += [_escape(line) for line in paragraph]
        else:
            rendered += ["::", "", *("    " + line for line in paragraph)]
        rendered.append("")
    if what in ("class", "function", "method"):
        told = {word: public_api.meaning(name, word) for word in public_api.unexplained(obj)}
        rendered += [f"- `{word}`: {_escape(text)}" for word, text in told.items() if text]
        rendered.append("")
    lines[:] = rendered


def _skip_generated(app, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Methods that scikit-learn puts on every estimator have its own documentation, with references that lead there."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def _enlarge(app, doctree: nodes.document) -> None:
    """A picture leads to itself in full size, which the HTML builder does for those that have a width."""
    for image in doctree.findall(nodes.image):
        width, _ = imagesize.get(Path(app.srcdir) / image["uri"])
        image.setdefault("width", f"{width}px")


def setup(app) -> None:
    app.connect("doctree-read", _enlarge)
    app.connect("autodoc-skip-member", _skip_generated)
    app.connect("source-read", _fill_api_pages)
    app.connect("autodoc-process-signature", _shorten_signature)
    app.connect("autodoc-process-docstring", _plain_text)
