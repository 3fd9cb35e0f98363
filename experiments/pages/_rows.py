"""A results file as it is read by the pages: means over seeds of chosen rows."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS, DOCS = ROOT / "results", ROOT / "docs"

Row = dict[str, Any]
Keep = Callable[[Row], bool]


@dataclass(frozen=True)
class Column:
    """Which rows of a file go into a column: those of a metric, and of these what `keep` takes."""

    metric: str
    keep: Keep = lambda row: True
    with_range: bool = True
    middle: Callable[[list[float]], float] = mean
    """What is made of several numbers. The title of the column says so, if it is not their mean."""


def only(**key: Any) -> Keep:
    """Rows with these entries."""
    return lambda row: all(row.get(name) == value for name, value in key.items())


class Stored:
    """One results file."""

    def __init__(self, name: str, folder: Path = RESULTS):
        self.name = name
        self.content: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
        self.rows: list[Row] = self.content["rows"]
        self.protocol: dict[str, Any] = self.content["protocol"]
        self._groups: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            self._groups.setdefault((row["case"], row["method"]), []).append(row)

    def cells(self) -> list[tuple[str, str]]:
        """Every case and method, cases in the order in which they were run first."""
        cases = list(dict.fromkeys(case for case, _ in self._groups))
        return sorted(self._groups, key=lambda key: cases.index(key[0]))

    def values(self, case: str, method: str, column: Column) -> list[float]:
        """Every number of a cell."""
        rows = self._groups.get((case, method), [])
        return [row["value"] for row in rows if row["metric"] == column.metric and column.keep(row)]

    def by_seed(self, case: str, method: str, column: Column) -> dict[int, float]:
        """The numbers of a cell as one mean for each seed."""
        found: dict[int, list[float]] = {}
        for row in self._groups.get((case, method), []):
            if row["metric"] == column.metric and column.keep(row):
                found.setdefault(row["seed"], []).append(row["value"])
        return {seed: mean(values) for seed, values in found.items()}


def number(value: float) -> str:
    """Three digits; more only where thousands are meant, one where nothing but the order of magnitude counts."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:#.3g}".rstrip(".") if abs(value) >= 0.001 else f"{value:.1g}"
