"""Loading runs no code from a file: nothing that could is used, and what asks for it is refused."""

import ast
import sys
from pathlib import Path

import pytest

import gpssm
from gpssm.files._container import pack
from gpssm.files._model_file import KIND
from tests.faults.damage import _with, contents, forge, good, refused
from tests.faults.hostile import CHANGES

FILES = Path(gpssm.__file__).parent / "files"
BANNED_MODULES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "subprocess", "runpy", "ctypes"}
BANNED_CALLS = {"eval", "exec", "compile", "__import__", "globals", "import_module", "system", "allow_pickle"}


def _used(tree: ast.AST) -> set[str]:
    """Names of modules that are imported and of functions that are called."""
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            used |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            used |= {(node.module or "").partition(".")[0], *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            used.add(node.func.id)
        elif isinstance(node, ast.keyword):
            used.add(node.arg or "")
    return used


def test_the_scan_finds_what_it_looks_for():
    source = "import pickle.loads\nfrom importlib import import_module\neval('1')\nload(x, allow_pickle=True)"
    assert {"pickle", "import_module", "eval", "allow_pickle"} <= _used(ast.parse(source))


@pytest.mark.parametrize("path", sorted(FILES.glob("*.py")), ids=lambda path: path.stem)
def test_nothing_that_runs_code_is_used(path):
    used = _used(ast.parse(path.read_text(encoding="utf-8")))
    assert not used & (BANNED_MODULES | BANNED_CALLS)


def test_the_forgeries_would_load_if_they_were_honest(tmp_path):
    """Otherwise the refusals below could have any reason."""
    content, tensors = contents()
    assert not refused(good(), tmp_path)
    assert not refused(pack(KIND, content, tensors), tmp_path)
    assert not refused(forge(_with(), tensors), tmp_path)


REASONS = {
    "a function of the system": "does not know .*os.system",
    "a path to import": "does not know .*__import__",
    "a special attribute": "unknown field '__class__'",
    "a tensor as a static field": "cannot be a tensor",
    "a tensor that is not there": "does not know .*passwd",
    "another tensor": "do not fit together",
    "a model that is a kernel": "System.model is of the type IdentityMean, which it cannot be",
    "a mixture of other channels": "different channels",
    "a mixture with negative shares": "not negative",
    "a scaler for other channels": "do not fit together",
    "a scaler of zero": "must be positive",
    "a scaler that is a list": "Scaler.output_scale is of the type list, which it cannot be",
    "a lengthscale that is a number": "RBF.lengthscale is of the type float, which it cannot be",
    "a lengthscale held as a number": "PositiveReal._unconstrained is of the type float, which it cannot be",
    "an engine that is a number": "RBF.compute_engine is of the type int, which it cannot be",
    "a history of text for seconds": "impossible numbers of steps or seconds",
}


@pytest.mark.parametrize("name", REASONS)
def test_hostile_headers_are_refused_for_the_right_reason(name, tmp_path):
    content, tensors = contents()
    CHANGES[name](content)
    (tmp_path / "m").write_bytes(pack(KIND, content, tensors))
    with pytest.raises(gpssm.FileError, match=REASONS[name]):
        gpssm.load(tmp_path / "m")


_WATCHED = {"pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "ctypes.dlopen"}
_seen: list[str] = []
_watching = False


def _watch(event: str, arguments: tuple) -> None:
    if _watching and event in _WATCHED:
        _seen.append(event)


def test_the_interpreter_reports_no_code_from_hostile_files(tmp_path):
    global _watching
    sys.addaudithook(_watch)
    content, tensors = contents()
    gpssm.load(_written(tmp_path, pack(KIND, content, tensors)))
    _watching = True
    try:
        for change in CHANGES.values():
            content, tensors = contents()
            if change(content) is None:
                assert refused(pack(KIND, content, tensors), tmp_path)
    finally:
        _watching = False
    assert _seen == []


def _written(folder: Path, data: bytes) -> Path:
    (folder / "m").write_bytes(data)
    return folder / "m"
