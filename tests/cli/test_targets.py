"""Where a command cannot write is said before any work begins: after hours of it would be too late."""

import os
from pathlib import Path

import pytest

from gpssm.cli._outcome import UsageError
from gpssm.cli._targets import check_target


def pipe(path: Path) -> None:
    os.mkfifo(path)


def to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def to_a_device(path: Path) -> None:
    path.symlink_to(os.devnull)


def to_a_folder_that_is_gone(path: Path) -> None:
    path.symlink_to(path.parent / "gone" / "m.gpssm")


@pytest.mark.parametrize(
    ("make", "mentions"),
    [
        (Path.mkdir, "is a folder"),
        (pipe, "a pipe, a socket or a device"),
        (to_a_device, "a pipe, a socket or a device"),
        (to_itself, "cannot be written"),
        (to_a_folder_that_is_gone, "gone does not exist"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_no_file_is_refused(tmp_path: Path, make, mentions: str):
    target = tmp_path / "m.gpssm"
    make(target)
    with pytest.raises(UsageError, match=mentions):
        check_target(target, [])


@pytest.mark.parametrize("name", ["gone/m.gpssm", "a.csv/m.gpssm", "m\0.gpssm", "m" * 300])
def test_a_name_that_nothing_can_be_written_to_is_refused(tmp_path: Path, name: str):
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(UsageError, match=r"does not exist|cannot be written"):
        check_target(tmp_path / name, [])


def test_files_and_links_to_where_files_may_be_are_fine(tmp_path: Path):
    there, link = tmp_path / "m.gpssm", tmp_path / "link.gpssm"
    check_target(there, [])
    link.symlink_to(there)
    check_target(link, [])
    there.write_text("")
    check_target(there, [])
    check_target(link, [])
    with pytest.raises(UsageError, match="this file is read from"):
        check_target(link, [there])
