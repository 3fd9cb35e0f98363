"""Names of the package are imported when they are asked for, and are the same as before."""

import ast
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

import gpssm

SOURCE = Path(gpssm.__file__)


def _names_for_type_checkers() -> set[str]:
    (block,) = (
        node
        for node in ast.parse(SOURCE.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_type_checkers_the_table_and_all_agree():
    table = {name for names in gpssm._PUBLIC.values() for name in names}
    assert set(gpssm.__all__) == table == _names_for_type_checkers()
    assert set(gpssm.__all__) <= set(dir(gpssm))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="indentify"):
        gpssm.indentify  # noqa: B018


# Each needs an interpreter of its own, which imports JAX.
@pytest.mark.parametrize(
    "first",
    [
        "import gpssm.fit",
        pytest.param("gpssm.identify", marks=pytest.mark.slow),
        pytest.param("from gpssm.fit import train", marks=pytest.mark.slow),
    ],
)
def test_the_subpackage_fit_does_not_hide_the_function(first: str):
    code = f"import gpssm; {first}; print(type(gpssm.fit).__name__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=SOURCE.parents[1], capture_output=True, text=True)
    assert done.stdout.split() == [FunctionType.__name__], done.stderr
