"""Sphinx configuration. The API page is made from what the package exports, and docstrings are plain text."""

import importlib
import importlib.metadata
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from types import ModuleType

import jaxtyping
from docutils import nodes
from numpy.typing import ArrayLike, DTypeLike
from sphinx.util.typing import stringify_annotation

import gpssm

project = "gpssm"
author = "the gpssm authors"
project_copyright = author
release = importlib.metadata.version("gpssm")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
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

# Entry points are run, not imported.
_SCRIPTS = {"demo", "cli"}

# The order in which a reader meets them; what is not listed follows in the order of the alphabet.
_READING_ORDER = (
    *("data", "readers", "methods", "fitting", "optimisers", "predict", "evaluate", "reporting", "files", "models"),
    *("inference", "filters", "kernels", "baselines", "metrics", "plots", "pools", "systems", "control", "sklearn"),
)


def _public_modules(package: ModuleType) -> Iterator[ModuleType]:
    """The public modules below a package, each followed by those inside it."""
    found = {info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_")} - _SCRIPTS
    place = {name: i for i, name in enumerate(_READING_ORDER)} if package is gpssm else {}
    for name in sorted(found, key=lambda name: (place.get(name, len(place)), name)):
        module = importlib.import_module(f"{package.__name__}.{name}")
        yield module
        if hasattr(module, "__path__"):
            yield from _public_modules(module)


def _shortest(module: ModuleType, name: str) -> str:
    """The shortest name that a public object can be imported by."""
    at_the_top = name in gpssm._HOME and getattr(gpssm, name) is getattr(module, name)
    return f"gpssm.{name}" if at_the_top else f"{module.__name__}.{name}"


def _entries(module: ModuleType, names: Iterable[str], seen: set[int]) -> list[dict[str, str]]:
    """What is documented in the section of a module: abstract classes first, because they say what is asked of all."""
    entries = []
    for name in sorted(names, key=lambda name: (not name.startswith("Abstract"), name.casefold())):
        value = getattr(module, name)
        directive = "autoclass" if inspect.isclass(value) else "autofunction" if inspect.isroutine(value) else None
        if directive is not None and id(value) not in seen:
            seen.add(id(value))
            entries.append({"directive": directive, "name": _shortest(module, name)})
    return entries


def _public_api() -> dict[str, object]:
    """Every public class and function once, in the section of its package, under its shortest name."""
    sections, seen = [], set()
    for module in _public_modules(gpssm):
        entries = _entries(module, module.__all__, seen)
        if entries:
            summary = (inspect.getdoc(module) or "").partition("\n\n")[0].replace("\n", " ")
            sections.append({"name": module.__name__, "summary": summary, "entries": entries})
    # What belongs to no package.
    rest = _entries(gpssm, gpssm._HOME, seen)
    top = {section["name"]: _at_the_top(section["entries"]) for section in sections} | {"gpssm": _at_the_top(rest)}
    return {"sections": sections, "rest": rest, "top": {name: names for name, names in top.items() if names}}


def _at_the_top(entries: list[dict[str, str]]) -> list[str]:
    return [entry["name"] for entry in entries if entry["name"].count(".") == 1]


def _fill_api_page(app, docname: str, source: list[str]) -> None:
    if docname == "api":
        source[0] = app.builder.templates.render_string(source[0], _public_api())


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
    """Paragraphs and lists are set as such, anything laid out by hand is shown as it was typed."""
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
    lines[:] = rendered


def _skip_generated(app, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Methods that scikit-learn puts on every estimator have its own documentation, with references that lead there."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def _enlarge(app, doctree: nodes.document) -> None:
    """A picture leads to itself in full size, which the HTML builder does for those that have a width."""
    for image in doctree.findall(nodes.image):
        image.setdefault("width", "100%")


def setup(app) -> None:
    app.connect("doctree-read", _enlarge)
    app.connect("autodoc-skip-member", _skip_generated)
    app.connect("source-read", _fill_api_page)
    app.connect("autodoc-process-signature", _shorten_signature)
    app.connect("autodoc-process-docstring", _plain_text)
