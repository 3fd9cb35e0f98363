"""The page in a real browser, and what is in its file."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import jax.random as jr
import numpy as np
import pytest

import gpssm
from gpssm import models, reporting
from gpssm.predict import Channels
from gpssm.reporting import _figure
from gpssm.reporting._page import _thinned

pytestmark = pytest.mark.system  # it opens a browser, and builds reports of every kind

ALWAYS = ["verdict", "simulation", "prediction", "calibration", "residuals", "data", "training", "settings"]
"""The sections of every report, in their order."""
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install '.[dev]'")
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
            drawn: [...document.querySelectorAll('div.plot')].map(d => d.querySelectorAll('.trace').length),
            widest: Math.max(...[...document.querySelectorAll('main > *')].map(d => d.scrollWidth)),
            injected: document.querySelectorAll('main img, main b').length,
            sections: [...document.querySelectorAll('section')].map(s => s.id),
        })"""
    )
    page.close()
    return facts, trouble, requests


def sections(source: str) -> list[str]:
    return re.findall(r'<section id="([^"]+)">', source)


def figures(source: str) -> list[dict]:
    return [json.loads(found) for found in re.findall(r'-data">(.*?)</script>', source, flags=re.DOTALL)]


def test_a_report_opens_without_trouble(browser, exact, tmp_path):
    path = reporting.write(exact, tmp_path / "sub" / "report.html")
    facts, trouble, requests = visit(browser, path, tmp_path / "report.png")
    assert trouble == []
    assert requests == [path.as_uri()], "nothing may be fetched"
    assert facts["title"] == exact.title
    assert exact.verdict.headline in facts["text"]
    assert all(finding.text in facts["text"] for finding in exact.verdict.findings)
    assert facts["sections"] == [*ALWAYS[:5], "model", *ALWAYS[5:]]
    assert all(count > 0 for count in facts["drawn"])
    assert facts["injected"] == 0
    assert "<script>alert(1)</script>" in facts["text"], "shown as it was typed"
    assert facts["widest"] <= 1100
    assert (tmp_path / "report.png").stat().st_size > 50_000


@pytest.mark.slow
def test_a_report_without_states_opens_without_trouble(browser, lagged, tmp_path):
    path = reporting.write(lagged, tmp_path / "report.html")
    facts, trouble, requests = visit(browser, path, tmp_path / "report.png")
    assert trouble == []
    assert requests == [path.as_uri()]
    assert facts["sections"] == ALWAYS
    assert all(count > 0 for count in facts["drawn"])


@pytest.mark.slow
def test_a_comparison_opens_without_trouble(browser, compared, tmp_path):
    path = reporting.write(compared, tmp_path / "comparison.html")
    facts, trouble, requests = visit(browser, path, tmp_path / "comparison.png")
    assert trouble == []
    assert requests == [path.as_uri()]
    assert compared.headline in facts["text"]
    assert "<i>right</i>" in facts["text"]
    assert facts["sections"] == ["verdict", "simulation", "horizons", "calibration", "settings"]
    assert all(count > 0 for count in facts["drawn"])


def test_only_a_model_with_states_has_a_section_on_them(exact, lagged, mixed, trivial, tmp_path):
    for report in (exact, lagged, mixed, trivial):
        source = reporting.write(report, tmp_path / "report.html").read_text(encoding="utf-8")
        wanted = [*ALWAYS[:5], "model", *ALWAYS[5:]] if report is exact else ALWAYS
        assert sections(source) == wanted
        drawn = figures(source)
        assert len(drawn) >= len(report.shown) + 4
        assert all(figure["data"] for figure in drawn)


def test_names_are_text_and_nothing_else(exact, compared, tmp_path):
    source = reporting.write(exact, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in source
    assert "&lt;script&gt;alert(1)" in source
    assert "<img src=x" not in source
    assert "<i>right" not in reporting.write(compared, tmp_path / "comparison.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("inputs", [0, 1])
def test_a_model_with_one_state_shows_its_curve(inputs, tmp_path):
    """A GP with inducing points, not trained at all: the page must say so and still be whole."""
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.standard_normal(60)) * 0.1
    u = rng.standard_normal((60, inputs))
    episodes = gpssm.Episodes.from_arrays(y=[y[:40], y[40:]], u=[u[:40], u[40:]] if inputs else None)
    model = models.GPSSM.from_data(episodes, state_dim=1, num_inducing=6, key=jr.key(0))
    untrained = gpssm.System(model, gpssm.Scaler.from_episodes(episodes), Channels.of(episodes))
    built = reporting.build(untrained, episodes[1:], n_init=4, horizons=(1, 30), key=jr.key(1))
    assert [score.name for score in built.scores] == ["1 step", "free run"], "no room for 30 steps"
    assert built.verdict.grade("Was it trained") is reporting.Grade.unknown
    assert built.state_space is not None
    assert len(built.state_space.slices) == (3 if inputs else 1)
    assert (built.state_space.slices[0].inducing_mean is None) == bool(inputs)
    page = reporting.write(built, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "No record of the training" in page


def test_the_file_is_one_and_replaces_an_old_one(exact, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    reporting.write(exact, path)
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
