"""The pages of results are what their JSON files say."""

import json

import numpy as np
import pytest
from scipy.stats import ttest_rel

from experiments.pages import kink
from experiments.pages._all import PAGES, all_files
from experiments.pages._compare import Outcome, compare
from experiments.pages._page import filled, written
from experiments.pages._rows import DOCS, RESULTS, ROOT, Column, Stored, number
from experiments.pages._spec import Beside, Claim, Line, Page, Shown
from experiments.pages._table import short
from experiments.pages._words import wrapped


@pytest.fixture(scope="module")
def files():
    return all_files()


def test_pages_agree_with_their_json_files(files):
    stale = [str(path.relative_to(ROOT)) for path, text in files.items() if path.read_text(encoding="utf-8") != text]
    assert not stale, f"run `python -m experiments.pages`: {stale}"


def test_no_page_is_left_over(files):
    there = {path for path in (DOCS / "results").rglob("*") if path.is_file()}
    assert there - set(files) == {DOCS / "results" / "departures.md"}


def test_every_results_file_has_a_page():
    shown = {page.source for page in PAGES}
    assert {path.stem for path in RESULTS.glob("*.json")} <= shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_short_and_its_figures_exist(page):
    lines = short(page, Stored(page.source)).splitlines()[2:]
    assert 1 <= len(lines) <= 8
    assert page.figures and all((ROOT / path).is_file() for path in page.figures)


def _stored(tmp_path, rows) -> Stored:
    head = {"protocol": {}, "versions": {"python": "3", "jax": "1", "gpjax": "1"}, "machine": {"cores": 2}}
    (tmp_path / "file.json").write_text(json.dumps({**head, "command": "python", "seconds": 60, "rows": rows}))
    return Stored("file", tmp_path)


def _rows(method, values, **more):
    return [{"case": "c", "method": method, "seed": s, "metric": "error", "value": v, **more} for s, v in values]


def _page(**more) -> Page:
    lines = (Line("ours", "ours", "a", "c"), Line("theirs", "opponent", "b", "c"), Line("other", "opponent", "x", "c"))
    shown = (Shown("error", "error"),)
    return Page("page", "Page", "Set.", {"error": Column("error")}, shown, lines, "Seen.", "yes", "Blind.", **more)


def _outcome(tmp_path, rows, **more) -> Outcome | None:
    claim = Claim("error", "error", ("c", "a"), (("c", "b"), ("c", "x")), **more)
    return compare(claim, _page(), _stored(tmp_path, rows))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shift", [-1.5, 0.0, 1.5])
def test_a_verdict_is_that_of_the_paired_t_test(tmp_path, seed, shift):
    rng = np.random.default_rng(seed)
    theirs = rng.standard_normal(5)
    ours = theirs + shift + rng.standard_normal(5)
    rows = _rows("a", enumerate(ours)) + _rows("b", enumerate(theirs)) + _rows("x", enumerate(theirs + 9.0))
    outcome = _outcome(tmp_path, rows)
    assert outcome is not None and outcome.opponent == "theirs" and outcome.seeds == 5
    test = ttest_rel(ours, theirs)
    assert outcome.difference == pytest.approx(np.mean(ours - theirs))
    assert outcome.error == pytest.approx(np.mean(ours - theirs) / test.statistic)
    expected = "level" if test.pvalue > 0.05 else "ahead" if np.mean(ours) < np.mean(theirs) else "behind"
    assert outcome.verdict == expected


def test_where_higher_is_better_the_best_opponent_is_the_highest(tmp_path):
    rows = [
        *_rows("a", [(0, 1.0), (1, 1.1), (2, 1.2)]),
        *_rows("b", [(0, 2.0), (1, 2.2), (2, 2.1)]),
        *_rows("x", [(0, -5.0)]),
    ]
    outcome = _outcome(tmp_path, rows, higher_is_better=True)
    assert outcome is not None and (outcome.opponent, outcome.verdict) == ("theirs", "behind")


def test_tests_of_one_seed_are_not_taken_for_seeds(tmp_path):
    tests = [row for t in range(6) for row in _rows("a", [(0, 1.0 + t), (1, 2.0)], test=t)]
    outcome = _outcome(tmp_path, [*tests, *_rows("b", [(0, 9.0), (1, 9.5)])])
    assert outcome is not None and (outcome.seeds, outcome.error, outcome.verdict) == (2, None, "undecided")
    assert outcome.difference == pytest.approx((3.5 - 9.0 + 2.0 - 9.5) / 2)


def test_another_number_in_the_file_is_another_page(tmp_path):
    rows = _rows("a", [(0, 0.123), (1, 0.125)]) + _rows("b", [(0, 0.5)])
    before = written(_page(), _stored(tmp_path, rows))
    assert "| **ours** | 0.124 |" in before and "made before rows named the code" in before
    rows[0]["value"] = 0.223
    after = written(
        _page(), _stored(tmp_path, [{**row, "commit": "abc", "code": "def", "date": "now"} for row in rows])
    )
    assert "| **ours** | 0.174 |" in after and "commit `abc` (code `def`), now" in after


def test_what_stands_beside_is_a_table_of_its_own(tmp_path):
    stored = _stored(tmp_path, _rows("a", [(0, 1.0)]) + _rows("b", [(0, 0.25)]))
    lines = (Line("two of theirs", "opponent", "b", "c"), Line("not run", "ours", "y", "c"))
    page = _page(beside=Beside("Beside", "Words: [[c | a | error]].", (Shown("error", "error"),), lines))
    assert "## Beside\n\nWords: 1.00.\n\n|  | error |\n| --- | --- |\n| two of theirs | 0.250 |\n\n" in written(
        page, stored
    )


def test_numbers_within_sentences_come_from_the_file(tmp_path):
    stored = _stored(tmp_path, _rows("a", [(0, 1.0), (1, 2.0)]))
    assert filled("It is [[c | a |\nerror]].", _page(), stored) == "It is 1.50."
    with pytest.raises(KeyError, match="no rows"):
        filled("[[c | b | error]]", _page(), stored)


def test_the_kink_page_shows_the_mean_of_its_seeds():
    rows = json.loads((RESULTS / "kink.json").read_text())["rows"]
    key = {"case": "best", "method": "rbf", "metric": "rmse_visited"}
    values = [row["value"] for row in rows if all(row[name] == want for name, want in key.items())]
    assert len(values) > 1
    assert f"| **RBF** | {number(float(np.mean(values)))} |" in written(kink.PAGE, Stored("kink"))


def test_wrapping_changes_line_ends_only():
    text = "- one " + "word " * 60 + "\n  and more\n- two"
    lines = wrapped(text).splitlines()
    assert max(map(len, lines)) <= 120 and " ".join(wrapped(text).split()) == " ".join(text.split())
    assert [line[:2] for line in lines if line.startswith("- ")] == ["- ", "- "]
