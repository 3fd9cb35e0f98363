"""The lock says what every package must be, without saying where it comes from."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def _wanted() -> dict[str, tuple[int, ...]]:
    """Lower bounds of all that a working environment has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    listed = [*project["dependencies"], *extras["dev"], *extras["docs"]]
    found = (re.fullmatch(r"([a-z0-9-]+)(?:\[[a-z]+\])?>=([0-9.]+)", requirement) for requirement in listed)
    return {match.group(1): _numbers(match.group(2)) for match in found if match}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _lock() -> str:
    return (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_every_dependency_is_locked_within_its_bounds():
    locked = {name: _numbers(version) for name, version in re.findall(r"^([a-z0-9-]+)==(\S+)", _lock(), re.MULTILINE)}
    wanted = _wanted()
    assert len(wanted) > 30, "the bounds could not be read"
    assert not set(wanted) - set(locked), "run `make lock`"
    assert not {name for name, bound in wanted.items() if locked[name] < bound}, "run `make lock`"


def test_every_version_has_digests_and_none_an_address():
    entries = re.split(r"\n(?=[a-z])", _lock())
    packages = [entry for entry in entries if "==" in entry.split("\n")[0]]
    assert len(packages) > 100
    assert all("--hash=sha256:" in entry for entry in packages)
    assert not re.search(r"://|index|@ ", _lock()), "a lock names no place that packages come from"


def test_the_page_of_promises_gives_the_bounds_as_they_are():
    page = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([a-z-]+) \| ([0-9.]+) \| ", page, re.MULTILINE))
    wanted = _wanted()
    assert rows and {name: _numbers(version) for name, version in rows.items()} == {name: wanted[name] for name in rows}
