"""Numbers that others printed, each with its source."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _content() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("printed.toml").read_text(encoding="utf-8"))


def printed(page: str) -> dict[str, dict[str, float]]:
    """The printed lines for a page, each with its columns."""
    return _content().get(page, {}).get("lines", {})


def source(page: str) -> str:
    """Where they were printed."""
    return _content().get(page, {}).get("source", "")
