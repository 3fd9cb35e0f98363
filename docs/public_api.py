"""What the package exports, in which section each name is documented, and what each of its arguments means."""

import ast
import enum
import importlib
import inspect
import pkgutil
import re
import textwrap
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import gpssm

# Entry points are run, not imported.
_SCRIPTS = {"demo", "cli"}

# The order in which names find their sections; what is not listed follows in the order of the alphabet.
_ORDER = (
    *("data", "readers", "methods", "fitting", "optimisers", "predict", "evaluate", "reporting", "files", "models"),
    *("inference", "filters", "kernels", "baselines", "metrics", "plots", "pools", "systems", "control", "sklearn"),
)


def public_modules(package: ModuleType = gpssm) -> Iterator[ModuleType]:
    """The public modules below a package, each followed by those inside it."""
    found = {info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_")} - _SCRIPTS
    place = {name: i for i, name in enumerate(_ORDER)} if package is gpssm else {}
    for name in sorted(found, key=lambda name: (place.get(name, len(place)), name)):
        module = importlib.import_module(f"{package.__name__}.{name}")
        yield module
        if hasattr(module, "__path__"):
            yield from public_modules(module)


@cache
def sections() -> dict[str, dict[str, object]]:
    """Every public class and function once, under its shortest name, by the module that it belongs to."""
    seen: set[int] = set()
    found = {module.__name__: _entries(module, module.__all__, seen) for module in public_modules()}
    found["gpssm"] = _entries(gpssm, gpssm._HOME, seen)  # what belongs to no package
    return {name: entries for name, entries in found.items() if entries}


def _entries(module: ModuleType, names: Iterable[str], seen: set[int]) -> dict[str, object]:
    """Abstract classes first, because they say what is asked of all."""
    entries = {}
    for name in sorted(names, key=lambda name: (not name.startswith("Abstract"), name.casefold())):
        value = getattr(module, name)
        if (inspect.isclass(value) or inspect.isroutine(value)) and id(value) not in seen:
            seen.add(id(value))
            at_the_top = name in gpssm._HOME and getattr(gpssm, name) is value
            entries[f"gpssm.{name}" if at_the_top else f"{module.__name__}.{name}"] = value
    return entries


def section(module: str, *first: str) -> str:
    """The section of a module as source of a page; `first` are names that should be met before the others."""
    entries = sections()[module]
    wanted = [next(name for name in entries if name.rpartition(".")[2] == word) for word in first]
    return "\n".join(["```{eval-rst}", *map(_directive, dict.fromkeys([*wanted, *entries])), "```"])


def _directive(name: str) -> str:
    """How Sphinx is told to document a name."""
    if inspect.isclass(_value(name)):
        return f".. autoclass:: {name}\n   :members:\n   :show-inheritance:\n"
    return f".. autofunction:: {name}\n"


def _value(name: str) -> object:
    return next(entries[name] for entries in sections().values() if name in entries)


def signatures() -> Iterator[tuple[str, object]]:
    """Every public function, class and method whose arguments somebody may have to give; enumerations have none."""
    for entries in sections().values():
        for name, value in entries.items():
            if not inspect.isclass(value):
                yield name, value
            elif not issubclass(value, enum.Enum):
                yield name, value
                for word, member in vars(value).items():
                    function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
                    if inspect.isfunction(function) and not word.startswith("_"):
                        yield f"{name}.{word}", function


def arguments(value: object) -> list[str]:
    """Names of the arguments of a function or class."""
    try:
        return [name for name in inspect.signature(value).parameters if name not in ("self", "cls", "args", "kwargs")]
    except ValueError:  # built without a signature of its own
        return []


def unexplained(value: object) -> list[str]:
    """Arguments that neither the docstring speaks of nor, for the fields of a class, a docstring of their own."""
    told = inspect.getdoc(value) or ""
    fields: set[str] = set()
    if inspect.isclass(value):
        told += " " + (getattr(vars(value).get("__init__"), "__doc__", None) or "")
        fields = set().union(*(_documented_fields(base) for base in value.__mro__ if _is_ours(base)))
    return [name for name in arguments(value) if name not in fields and not re.search(rf"\b{re.escape(name)}\b", told)]


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "gpssm"


@cache
def _documented_fields(cls: type) -> set[str]:
    """Fields that are followed by a docstring."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0].body
    return {
        field.target.id
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }


@cache
def _meanings() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("arguments.toml").read_text(encoding="utf-8"))


def meaning(name: str, argument: str) -> str | None:
    """What an argument means: of this function or class in particular, or wherever it occurs."""
    words = name.split(".")
    particular = [".".join(words[i:]) for i in range(len(words))]
    found = [_meanings()[word][argument] for word in particular if argument in _meanings().get(word, {})]
    return found[0] if found else _meanings()["everywhere"].get(argument)
