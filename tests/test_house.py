"""The rules of the house that no other tool checks."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import equinox as eqx
import pytest

import gpssm

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "gpssm"
MAX_LINES = 350

# Entry points: they may do at import what a library may not.
SCRIPTS = ("__main__", "demo")


def _modules() -> Iterator[ModuleType]:
    yield gpssm
    for info in pkgutil.walk_packages(gpssm.__path__, "gpssm."):
        if info.name.rpartition(".")[2] not in SCRIPTS:
            yield importlib.import_module(info.name)


def _module_classes() -> set[type]:
    """Every Equinox module that gpssm itself defines."""
    found = (value for module in _modules() for value in vars(module).values() if inspect.isclass(value))
    return {cls for cls in found if issubclass(cls, eqx.Module) and cls.__module__.partition(".")[0] == "gpssm"}


def _imported_roots(source: str) -> set[str]:
    roots = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            roots.add(node.module.partition(".")[0])
    return roots


def _package_imports() -> set[str]:
    return set().union(*(_imported_roots(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")))


# Distributions that are imported under another name than their own.
IMPORT_NAMES = {"scikit_learn": "sklearn"}


def _import_names(requirements: list[str]) -> set[str]:
    names = (re.match(r"[A-Za-z0-9._-]+", requirement) for requirement in requirements)
    plain = {match.group().lower().replace("-", "_") for match in names if match}
    return {IMPORT_NAMES.get(name, name) for name in plain}


def _declared_dependencies() -> set[str]:
    """Import names of the runtime dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return _import_names(project["dependencies"])


def _optional_dependencies() -> set[str]:
    """Import names of what users may install besides; tools for the work on gpssm itself do not count."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    return set().union(*(_import_names(needs) for name, needs in extras.items() if name not in ("dev", "docs")))


def test_classes_are_abstract_or_final():
    classes = _module_classes()
    assert classes, "no Equinox modules found: the scan is broken"
    concrete = {cls for cls in classes if not cls.__name__.lstrip("_").startswith("Abstract")}
    extended = {
        f"{cls.__qualname__} extends {base.__qualname__}"
        for cls in classes
        for base in cls.__mro__[1:]
        if base in concrete
    }
    assert not extended, f"concrete classes are final; extract an Abstract* interface instead: {sorted(extended)}"


@pytest.mark.parametrize("name", gpssm.__all__)
def test_public_names_are_documented(name):
    value = getattr(gpssm, name)
    if inspect.isclass(value):
        # `inspect.getdoc` would accept the docstring of a base class, and dataclasses invent one from the signature.
        documentation = value.__dict__.get("__doc__") or ""
        assert not documentation.startswith(f"{value.__name__}("), f"gpssm.{name} has no docstring of its own"
    elif inspect.ismodule(value) or callable(value):
        documentation = inspect.getdoc(value) or ""
    else:
        return  # a constant carries its explanation beside it, where `getdoc` cannot see it
    assert documentation.strip(), f"gpssm.{name} has no docstring"


@pytest.mark.system
@pytest.mark.parametrize(
    ("uses", "heavy"),
    [
        ("import gpssm.cli, gpssm.readers", {"jax", "matplotlib", "diffrax", "narwhals"}),
        (
            "import gpssm; [getattr(gpssm, name) for name in gpssm.__all__]",
            {"matplotlib", "diffrax", "cyclopts", "gpjax", "numpyro"},
        ),
    ],
)
def test_import_is_light(uses: str, heavy: set[str]):
    code = f"import sys; {uses}; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [], f"importing gpssm also imports {done.stdout.strip()}"


def test_every_declared_dependency_is_imported():
    unused = _declared_dependencies() - _package_imports()
    assert not unused, f"declared in pyproject.toml but never imported: {sorted(unused)}"


def test_every_import_is_declared():
    third_party = _package_imports() - set(sys.stdlib_module_names) - {"gpssm"}
    undeclared = third_party - _declared_dependencies() - _optional_dependencies()
    assert not undeclared, f"imported but not declared in pyproject.toml: {sorted(undeclared)}"


def test_files_are_short():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}
    assert lengths, "no files found: the scan is broken"
    long = {str(path.relative_to(ROOT)): count for path, count in lengths.items() if count > MAX_LINES}
    assert not long, f"files over {MAX_LINES} lines have more than one responsibility: {long}"
