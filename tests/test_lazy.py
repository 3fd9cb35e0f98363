"""Names of the package are imported when they are asked for; a name is one thing, whoever asks."""

import ast
import gc
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


def _modules_after(code: str) -> set[str]:
    """What a fresh process has imported."""
    program = f"import sys\n{code}\nprint('\\nMODULES', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=SOURCE.parents[1], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("MODULES ")[2].split())


HEAVY = {
    *("matplotlib", "plotly", "pandas", "polars", "sklearn", "xarray", "distributed", "diffrax", "IPython"),
    *("cuthbert", "numba"),
}
"""What only some people need, and only for some things."""
FOR_SOME_METHODS = {"gpjax", "numpyro", "scipy.optimize", "scipy.cluster"}
"""Imported by the methods that need them: see also `test_without_gpjax.py`."""


@pytest.mark.system
def test_what_is_heavy_is_imported_when_it_is_needed():
    assert not _modules_after("import gpssm") & {"numpy", "jax", *HEAVY}
    fitting = _modules_after("import gpssm; gpssm.fit")
    assert "jax" in fitting
    assert not fitting & {*HEAVY, *FOR_SOME_METHODS}
    assert not fitting & {"gpssm.reporting", "gpssm.plots", "gpssm.control", "gpssm.systems", "gpssm.cli"}


@pytest.mark.system
def test_data_are_looked_at_without_jax(tmp_path):
    record = tmp_path / "a.csv"
    record.write_text("u,y\n" + "".join(f"{i % 3},{i % 5}\n" for i in range(60)))
    words = ["check", str(record), "--outputs", "y", "--inputs", "u", "--dt", "0.1"]
    for given in (["--help"], words):
        code = f"from gpssm.cli import main\ntry:\n    main({given!r})\nexcept SystemExit:\n    pass"
        assert not _modules_after(code) & {"jax", "scipy.optimize", "equinox", "gpjax", *HEAVY}


def test_looking_for_garbage_goes_on_after_an_import():
    assert gc.isenabled()
    gpssm._imported("gpssm.data")
    assert gc.isenabled()
    with pytest.raises(ModuleNotFoundError):
        gpssm._imported("gpssm.nothing")
    assert gc.isenabled()
    gc.disable()
    try:
        gpssm._imported("gpssm.data")
        assert not gc.isenabled(), "somebody wants it so"
    finally:
        gc.enable()
