"""What somebody sees who has not installed the package yet."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [".github/workflows/ci.yml", ".readthedocs.yaml"])
def test_hosts_call_targets_that_exist(path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    called = re.findall(r"\bmake ([a-z-]+)", (ROOT / path).read_text(encoding="utf-8"))
    assert called and set(called) <= targets


def test_the_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PROJECT['project']['version']}\n" in text
    assert f"\nlicense: {PROJECT['project']['license']}\n" in text


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "gpssm" / "py.typed").is_file()


def test_the_source_distribution_holds_what_is_there():
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert "/results" in included
    assert all((ROOT / path.lstrip("/")).exists() for path in included)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/index.md"])
def test_links_to_files_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert links
    assert not [link for link in links if link and not ((ROOT / page).parent / link).exists()]


def test_the_word_gpu_is_found():
    assert "GPU" in (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
