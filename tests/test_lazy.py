"""Names of the package are imported when they are asked for; a name is one thing, whoever asks."""

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import gpssm

SOURCE = Path(gpssm.__file__)


def _names_for_type_checkers() -> set[str]:
    stub = ast.parse(SOURCE.with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def test_type_checkers_the_table_and_all_agree():
    table = {*gpssm._HOME, *gpssm._MODULES}
    assert set(gpssm.__all__) == table == _names_for_type_checkers()
    assert set(gpssm.__all__) <= set(dir(gpssm))


def test_there_are_few_names_besides_modules():
    assert len(gpssm._HOME) <= 45


def test_no_function_has_the_name_of_a_package():
    packages = {info.name for info in pkgutil.iter_modules(gpssm.__path__)}
    assert not packages & set(gpssm._HOME)
    assert set(gpssm._MODULES) <= packages


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="indentify"):
        gpssm.indentify  # noqa: B018


@pytest.mark.system
def test_a_module_is_imported_as_a_module():
    code = "import gpssm, gpssm.fitting as m; print(type(m).__name__, type(gpssm.fit).__name__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=SOURCE.parents[1], capture_output=True, text=True)
    assert done.stdout.split() == ["module", "function"], done.stderr
