"""Every public argument is explained, and every public name has its page."""

import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import public_api  # noqa: E402


@pytest.fixture(scope="module")
def unexplained() -> dict[str, list[str]]:
    """What docstrings leave unexplained, by function or class."""
    return {name: public_api.unexplained(value) for name, value in public_api.signatures()}


def test_every_argument_is_explained(unexplained):
    assert len(unexplained) > 400, "the scan is broken"
    missing = {
        name: lacking
        for name, words in unexplained.items()
        if (lacking := [word for word in words if public_api.meaning(name, word) is None])
    }
    assert not missing, f"say what they mean, in the docstring or in docs/arguments.toml: {missing}"


def test_explanations_are_of_arguments_that_exist():
    table = dict(public_api._meanings())
    taken = {name: public_api.arguments(value) for name, value in public_api.signatures()}
    assert not set(table.pop("everywhere")) - {word for words in taken.values() for word in words}
    for place, told in table.items():
        assert set(told) <= {word for name, words in taken.items() if place in _ends(name) for word in words}, place


def _ends(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[i:]) for i in range(len(parts))]


def test_what_is_said_of_one_class_comes_before_what_is_said_of_all():
    assert public_api.meaning("gpssm.systems.CartPole", "cart_mass") == "mass of the cart"
    assert public_api.meaning("gpssm.evaluate.Stretches", "share") != public_api.meaning("gpssm.X", "share")
    assert public_api.meaning("gpssm.X", "nonsense") is None


def test_an_argument_that_nobody_explains_is_found():
    def function(told, untold, *, key):
        """Takes what it is `told`."""

    assert public_api.unexplained(function) == ["untold", "key"]


def test_every_section_stands_on_one_page():
    pages = "".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "api").glob("*.md")))
    shown = re.findall(r'section\(\s*"([a-z_.]+)"', pages)
    assert sorted(shown) == sorted(public_api.sections())


def test_the_verb_comes_first():
    lines = public_api.section("gpssm.methods", "fit", "Auto").splitlines()
    named = [line.split()[-1] for line in lines if line.startswith("..")]
    assert named[:2] == ["gpssm.fit", "gpssm.Auto"] and len(named) == len(set(named)) > 20
