"""Every malformed file is refused through Python and through the command line, and nothing is touched."""

import hashlib
from pathlib import Path

import pytest

from gpssm.cli import main
from gpssm.data import DataError
from gpssm.readers import CsvFormat, examine, read
from tests.cli.malformed import BadFiles
from tests.cli.malformed_binary import ARRAYS
from tests.cli.malformed_records import COLUMNS, EPISODES, PATHS, TIME
from tests.cli.malformed_text import NUMBERS, STRUCTURE

CASES = [*STRUCTURE, *NUMBERS, *COLUMNS, *TIME, *EPISODES, *PATHS, *ARRAYS]
TEXT_OPTIONS = ("delimiter", "decimal")
SAMPLE = 20
"""Every so manieth case is tried each time, all of them by `make test-system`."""


@pytest.fixture(
    params=[pytest.param(c, id=c.name, marks=pytest.mark.system if i % SAMPLE else ()) for i, c in enumerate(CASES)]
)
def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BadFiles:
    """The case, with its files in the present folder."""
    for name, content in request.param.files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    monkeypatch.chdir(tmp_path)
    return request.param


def _state(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


def test_enough_of_them_and_no_name_twice():
    assert len(CASES) >= 120
    assert len({case.name for case in CASES}) == len(CASES)


def test_refused_in_python(case: BadFiles, tmp_path: Path):
    before = _state(tmp_path)
    options = {key: value for key, value in case.selection.items() if key not in TEXT_OPTIONS}
    with pytest.raises(DataError) as caught:
        style = CsvFormat(**{key: value for key, value in case.selection.items() if key in TEXT_OPTIONS})
        names = case.given or tuple(case.files)
        examine(read(names, style=style, **options)).require_fit_for_learning(names[0])
    for mention in case.mentions:
        assert mention in str(caught.value), f"'{mention}' is missing in: {caught.value}"
    assert _state(tmp_path) == before


@pytest.mark.parametrize("command", ["check", "fit"])
def test_refused_on_the_command_line(case: BadFiles, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    before = _state(tmp_path)
    words = [command, *(case.given or tuple(case.files)), *case.flags()]
    code = main([*words, "-o", "model.gpssm"] if command == "fit" else words)
    said = "".join(capsys.readouterr()).replace("\n", " ")
    assert code == case.code, said
    for mention in case.mentions:
        assert mention in said, f"'{mention}' is missing in: {said}"
    assert "Traceback" not in said
    assert _state(tmp_path) == before, "something was written or changed"
