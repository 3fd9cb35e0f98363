"""The page in a real browser, and what is in its file."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm import report
from gpssm.reporting import _figure
from gpssm.reporting._page import _thinned
from tests.report.conftest import HOSTILE, history
from tests.report.linear_case import records, system

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install '.[dev]'")

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    if CHROMIUM is None:
        pytest.skip("no Chromium on the path: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def visit(browser, path: Path, shot: Path):
    """Open a page, wait for its figures, and return what it shows and what it did on the way."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    trouble, requests = [], []
    page.on("console", lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: (trouble.append("a dialog opened"), dialog.dismiss()))
    page.goto(path.as_uri())
    page.wait_for_function("[...document.querySelectorAll('div.plot')].every(d => d.querySelector('.main-svg'))")
    page.screenshot(path=str(shot), full_page=True)
    facts = page.evaluate(
        """() => ({
            title: document.title,
            text: document.querySelector('main').innerText,
            traces: [...document.querySelectorAll('div.plot')].map(d => d.data.length),
            drawn: [...document.querySelectorAll('div.plot')].map(d => d.querySelectorAll('.trace').length),
            widest: Math.max(...[...document.querySelectorAll('main > *')].map(d => d.scrollWidth)),
            injected: document.querySelectorAll('main img, main b').length,
            sections: [...document.querySelectorAll('section')].map(s => s.id),
        })"""
    )
    page.close()
    return facts, trouble, requests


def test_a_report_opens_without_trouble(browser, exact, tmp_path):
    path = report.write(exact, tmp_path / "sub" / "report.html")
    facts, trouble, requests = visit(browser, path, tmp_path / "report.png")
    assert trouble == []
    assert requests == [path.as_uri()], "nothing may be fetched"
    assert facts["title"] == exact.title
    assert exact.verdict.headline in facts["text"]
    assert all(finding.text in facts["text"] for finding in exact.verdict.findings)
    wanted = {
        "verdict",
        "simulation",
        "prediction",
        "calibration",
        "residuals",
        "model",
        "data",
        "training",
        "settings",
    }
    assert set(facts["sections"]) == wanted
    # Three free runs (band, mean, dots; band, error; input), predictions over two horizons, two histograms, coverage at
    # three levels, auto- and cross-correlation (bounds, stems, dots), two states, six slices (a linear model has no
    # inducing points), data (two channels, two sets), training (bound twice, five terms, three noises).
    assert facts["traces"] == [6, 6, 6, 6, 2, 3, 3, 3, 4, 12, 4, 10]
    assert all(count > 0 for count in facts["drawn"])
    assert facts["widest"] <= 1100
    assert (tmp_path / "report.png").stat().st_size > 50_000


def test_names_are_text_and_nothing_else(browser, exact, tmp_path):
    path = report.write(exact, tmp_path / "report.html")
    facts, trouble, _ = visit(browser, path, tmp_path / "report.png")
    assert trouble == []
    assert facts["injected"] == 0
    assert "<script>alert(1)</script>" in facts["text"], "shown as it was typed"
    source = path.read_text(encoding="utf-8")
    assert "<script>alert(1)" not in source
    assert "<img src=x" not in source


def test_a_comparison_opens_without_trouble(browser, tmp_path):
    episodes = records((120, 120, 90), seed=1)
    compared = report.compare(
        [("narrow", system(sigma=0.8)), ("<i>right</i>", system())], episodes, n_init=20, horizons=(1, 5), key=jr.key(3)
    )
    path = report.write(compared, tmp_path / "comparison.html")
    facts, trouble, requests = visit(browser, path, tmp_path / "comparison.png")
    assert trouble == []
    assert requests == [path.as_uri()]
    assert compared.headline in facts["text"]
    assert "Bands that do not hold what they promise: narrow." in compared.headline
    assert "<i>right</i>" in facts["text"]
    assert facts["traces"] == [3, 3, 3, 2, 6]


@pytest.mark.parametrize("inputs", [0, 1])
def test_a_model_with_one_state_shows_its_curve(inputs, tmp_path):
    """A GP with inducing points, not trained at all: the page must say so and still be whole."""
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.standard_normal(60)) * 0.1
    u = rng.standard_normal((60, inputs))
    episodes = gpssm.Episodes.from_arrays(y=[y[:40], y[40:]], u=[u[:40], u[40:]] if inputs else None)
    model = gpssm.GPSSM.from_data(episodes, state_dim=1, num_inducing=6, key=jr.key(0))
    names = (episodes.output_names, episodes.input_names)
    untrained = gpssm.System(model, gpssm.Scaler.from_episodes(episodes), None, *names)
    built = report.build(untrained, episodes[1:], n_init=4, horizons=(1, 30), key=jr.key(1))
    assert [score.name for score in built.scores] == ["1 step", "free run"], "no room for 30 steps"
    assert built.verdict.grade("Was it trained") is report.Grade.unknown
    assert len(built.slices) == (3 if inputs else 1)
    assert (built.slices[0].inducing_mean is None) == bool(inputs)
    page = report.write(built, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "No record of the training" in page


def test_the_file_is_one_and_replaces_an_old_one(exact, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    report.write(exact, path)
    source = path.read_text(encoding="utf-8")
    assert source.startswith("<!DOCTYPE html>")
    assert source.count("plotly.js v") == 1, "the library is embedded once"
    assert len(source) < 6_500_000
    own = re.sub(r"<script>.*?</script>", "", source, count=1, flags=re.DOTALL)
    assert not re.search(r"(src|href)=[\"']https?:", own)
    assert list(tmp_path.iterdir()) == [path]


def test_long_series_are_thinned_for_drawing_and_the_page_says_so():
    count = 3 * _figure.MOST_POINTS - 1
    trace = _figure.line(np.arange(count), np.zeros(count), name="y", colour="#000000", step=_figure.every(count))
    assert len(trace.x) == _figure.MOST_POINTS
    assert f"one point in 3 of {count} is kept" in _thinned(count)
    assert _thinned(100) == ""


def test_a_system_reports_on_itself(exact, tmp_path):
    judged = system(names=HOSTILE, history=history()).report(
        records((120, 120, 90), seed=1, names=HOSTILE),
        tmp_path / "own.html",
        training=records((120, 120), seed=2, names=HOSTILE),
        n_init=20,
        horizons=(1, 5),
        key=jr.key(3),
    )
    assert judged.verdict == exact.verdict
    assert exact.verdict.headline in (tmp_path / "own.html").read_text(encoding="utf-8")
