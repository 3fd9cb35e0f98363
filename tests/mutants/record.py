"""What became of each mutant, on disk after each of them, so that a run goes on where it was cut."""

import hashlib
import json
import random
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutants.changes import Change, changes
from tests.mutants.judge import Verdict
from tests.mutants.places import ROOT, sources

EXPLAINED = Path(__file__).parent / "explained.toml"
"""Survivors that no test can kill, or need not, with the reason."""


@dataclass(frozen=True)
class Mutant:
    """A change to a file. The same change to the same text has the same name, wherever it has moved."""

    file: str
    change: Change
    name: str


def all_mutants() -> list[Mutant]:
    """All there are, in an order that depends on nothing but the sources."""
    found: list[Mutant] = []
    for file in sources():
        seen: dict[str, int] = {}
        for change in changes((ROOT / file).read_text()):
            what = f"{file}:{change.function}: {change.kind}: {_short(change.before)} -> {_short(change.after)}"
            seen[what] = seen.get(what, 0) + 1
            found.append(Mutant(file, change, what if seen[what] == 1 else f"{what} ({seen[what]})"))
    return found


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return (
        one_line if len(one_line) <= 60 else f"{one_line[:50]}... {hashlib.sha256(one_line.encode()).hexdigest()[:8]}"
    )


@dataclass
class Judged:
    """One row of the record."""

    name: str
    line: int
    verdict: str
    by: str
    seconds: float
    commit: str
    digest: str
    """Of the source file, so that a row about another text is not taken for one about this."""


class Record:
    """Rows by name, beside how they came about."""

    def __init__(self, path: Path, **origin: object):
        self.path, self.origin = path, origin
        self.rows: dict[str, Judged] = {}
        self.waiting: set[str] = set()
        if path.exists():
            stored = json.loads(path.read_text())
            self.rows = {row["name"]: Judged(**row) for row in stored["mutants"]}
            self.waiting = set(stored["waiting"])

    def draw(self, mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
        """As many as asked for: those drawn before, as far as they still exist, so that a change to one file leaves
        what is known about the others; and at random from the rest."""
        drawn_before = self.waiting.union(self.rows)
        kept = [mutant for mutant in mutants if mutant.name in drawn_before][:count]
        rest = [mutant for mutant in mutants if mutant.name not in drawn_before]
        return kept + random.Random(seed).sample(rest, min(count - len(kept), len(rest)))

    def known(self, mutant: Mutant) -> Judged | None:
        """What became of a mutant of the same text."""
        row = self.rows.get(mutant.name)
        return row if row is not None and row.digest == digest(mutant.file) else None

    def add(self, row: Judged) -> None:
        self.rows[row.name] = row

    def write(self, drawn: list[Mutant]) -> dict[str, int]:
        """Keep the rows of those that were drawn, and return the counts."""
        rows = [row for row in map(self.known, drawn) if row is not None]
        counts = count(rows, explained())
        waiting = [mutant.name for mutant in drawn if self.known(mutant) is None]
        told = {**self.origin, "drawn": len(drawn), **counts, "waiting": waiting}
        told["mutants"] = [asdict(row) for row in rows]
        temporary = self.path.with_suffix(".part")
        temporary.write_text(json.dumps(told, indent=1) + "\n")
        temporary.replace(self.path)
        return counts


def count(rows: list[Judged], reasons: dict[str, str]) -> dict[str, int]:
    """How many there are of each kind."""
    survived = [row for row in rows if row.verdict == Verdict.survived.value]
    known = sum(row.name in reasons for row in survived)
    judged = len(rows)
    return {"judged": judged, "killed": judged - len(survived), "explained": known, "survived": len(survived) - known}


def explained() -> dict[str, str]:
    """Names of survivors with the reason why they are let live."""
    return tomllib.loads(EXPLAINED.read_text()) if EXPLAINED.exists() else {}


def digest(file: str) -> str:
    """Of the text of a source file."""
    return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()[:16]
