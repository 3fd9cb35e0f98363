"""The tool that counts which changes the tests notice: what it changes, what it leaves alone, how it goes on."""

import ast
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.mutants.changes import changes
from tests.mutants.judge import Verdict
from tests.mutants.places import CONCERN, ROOT, concerned_with, sources
from tests.mutants.record import Judged, Mutant, Record, all_mutants, count, digest, explained

SOURCE = '''"""Words 0.5 * 2."""
LIMIT = 0.5

class Model:
    size: float = 0.5

    def mean(self, x: Float[Array, "2*T"], gain: float = 0.5) -> float:
        """0.5 * x."""
        if x.ndim != 1:
            raise ValueError("0.5 * x")
        ä = 0.5 * x.T
        return ä[1:] + jnp.einsum("ij,j->i", self.A, x) - jnp.where(x < 0.0, x, -x)
'''


@cache
def mutants() -> list[Mutant]:
    return all_mutants()


def test_every_change_is_python_and_no_other_text():
    found = changes(SOURCE)
    assert len({change.apply(SOURCE) for change in found}) == len(found) > 0
    for change in found:
        ast.parse(change.apply(SOURCE))
        assert change.apply(SOURCE) != SOURCE


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("other number", "0.5", "1.0"),
        ("other operator", "0.5 * x.T", "(0.5 / x.T)"),
        ("factor left out", "0.5 * x.T", "(0.5)"),
        ("transpose left out", "x.T", "x"),
        ("other index", "ä[1:]", "ä[2:]"),
        ("transposed", 'jnp.einsum("ij,j->i", self.A, x)', "jnp.einsum('ji,j->i', self.A, x)"),
        ("branches swapped", "jnp.where(x < 0.0, x, -x)", "jnp.where(x < 0.0, -x, x)"),
        ("other comparison", "x < 0.0", "x >= 0.0"),
        ("sign left out", "-x", "(x)"),
    ],
)
def test_arithmetic_is_changed(kind, before, after):
    assert (kind, before, after) in {(change.kind, change.before, change.after) for change in changes(SOURCE)}


def test_products_are_turned_round_unless_that_leaves_them_as_they_are():
    source = "def f(A, b):\n    return A[-1] @ A[-1] + A @ b\n"
    swapped = [change.after for change in changes(source) if change.kind == "operands swapped"]
    assert swapped == ["(b @ A)"]


def test_constants_defaults_annotations_words_and_refusals_are_left_alone():
    assert {change.line for change in changes(SOURCE)} == {11, 12}
    assert {change.function for change in changes(SOURCE)} == {"Model.mean"}


def test_every_source_has_tests_that_exist():
    for place in CONCERN:
        assert (ROOT / place).exists(), place
    for source in sources():
        assert concerned_with(source)
        for name in concerned_with(source):
            file, _, function = name.partition("::")
            assert (ROOT / file).exists(), f"{source} is said to be tested by {name}"
            function = function.partition("[")[0]
            assert not function or f"def {function}(" in (ROOT / file).read_text(encoding="utf-8"), name


def test_mutants_have_names_of_their_own_and_those_explained_exist():
    names = [mutant.name for mutant in mutants()]
    assert len(set(names)) == len(names) > 1500
    assert not set(explained()) - set(names), "the text has changed: judge these anew, or forget them"


def _row(mutant: Mutant, verdict: Verdict) -> Judged:
    return Judged(mutant.name, 1, verdict.value, "", 0.1, "abc", digest(mutant.file))


def test_a_record_goes_on_where_it_was_cut_and_forgets_what_was_about_another_text(tmp_path: Path):
    drawn = mutants()[:3]
    first = Record(tmp_path / "r.json", seed=1)
    first.add(_row(drawn[0], Verdict.killed))
    first.add(replace(_row(drawn[1], Verdict.killed), digest="another"))
    assert first.write(drawn) == {"judged": 1, "killed": 1, "explained": 0, "survived": 0}
    again = Record(tmp_path / "r.json", seed=1)
    assert again.known(drawn[0]) == _row(drawn[0], Verdict.killed)
    assert again.known(drawn[1]) is again.known(drawn[2]) is None
    assert again.draw(mutants(), 3, 5) == drawn, "those that wait were drawn, and stay so"
    assert json.loads((tmp_path / "r.json").read_text())["seed"] == 1


def test_the_draw_repeats_and_keeps_what_is_on_record(tmp_path: Path):
    new = Record(tmp_path / "r.json")
    first, again, other = (new.draw(mutants(), 20, seed) for seed in (1, 1, 2))
    assert first == again != other and len(set(first)) == 20
    new.add(_row(other[0], Verdict.killed))
    kept = new.draw(mutants(), 20, 1)
    assert kept[0] == other[0] and len(set(kept)) == 20
    new.add(replace(_row(other[1], Verdict.killed), name="of a text that is gone"))
    assert new.draw(mutants(), 20, 1) == kept


def test_survivors_that_are_explained_are_counted_apart():
    rows = [_row(mutant, Verdict.survived) for mutant in mutants()[:3]]
    rows[2] = replace(rows[2], verdict=Verdict.timeout.value)
    counts = count(rows, {rows[0].name: "adds zero"})
    assert counts == {"judged": 3, "killed": 1, "explained": 1, "survived": 1}
