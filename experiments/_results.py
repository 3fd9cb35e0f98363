"""One shape for all results: a JSON file with one row a number, and a store that remembers finished runs.

{"experiment", "command", "protocol", "versions", "machine", "seconds", "rows": [{"case", "method", "seed", "metric",
"value", ..., "commit", "code", "date", "command"}]}

Every row says from which state of the code it came: the commit, with a plus sign if files had been changed since, and a
digest of the packages `gpssm` and `experiments` as they were.
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from datetime import date
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax

Row = dict[str, Any]
PACKAGES = ("gpssm", "jax", "jaxlib", "equinox", "gpjax", "cuthbert", "optax", "numpy", "scipy")


def arguments(description: str, name: str) -> argparse.Namespace:
    """The command line that every experiment has."""
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{name}", description=description)
    parser.add_argument("--quick", action="store_true", help="a small version for a first look and for CI")
    parser.add_argument(
        "--out", type=Path, default=Path("results"), help="folder for JSON and PNG files (default: results)"
    )
    parser.add_argument("--fresh", action="store_true", help="forget finished runs instead of continuing after them")
    return parser.parse_args()


def head(module: str, protocol: dict[str, Any]) -> dict[str, Any]:
    """What every results file says about itself."""
    return {
        "experiment": module.rpartition(".")[2],
        "command": " ".join(["python -m", module, *sys.argv[1:]]),
        "protocol": protocol,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
    }


@cache
def provenance() -> dict[str, str]:
    """The state of the code, as far as it can be known."""
    root = Path(__file__).resolve().parents[1]

    def git(*words: str) -> str:
        try:
            return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return ""

    changed = git("status", "--porcelain", "--", "gpssm", "experiments").strip()
    commit = git("rev-parse", "--short=12", "HEAD").strip()
    digest = hashlib.sha256()
    for path in sorted(file for folder in ("gpssm", "experiments") for file in (root / folder).rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return {"commit": (commit or "unknown") + ("+" if changed else ""), "code": digest.hexdigest()[:12]}


class Results:
    """Collects rows and writes them after every finished run, so that a run that was cut goes on where it stopped."""

    def __init__(self, experiment: str, protocol: dict[str, Any], out: Path, *, fresh: bool = False):
        self.out = out
        self.path = out / f"{experiment}.json"
        out.mkdir(parents=True, exist_ok=True)
        self._began = time.monotonic()
        self._head = head(f"experiments.{experiment}", protocol)
        before = {} if fresh else self._finished()
        self.rows: list[Row] = before.get("rows", [])
        self.choices: dict[str, str] = before.get("choices", {})
        self.derived: dict[str, Any] = {}
        """Sections that are computed from the rows."""
        self._seconds: float = before.get("seconds", 0.0)

    def _finished(self) -> dict[str, Any]:
        """What an earlier run with the same protocol and versions has left."""
        if not self.path.exists():
            return {}
        stored = json.loads(self.path.read_text())
        same = all(stored.get(key) == json.loads(json.dumps(self._head[key])) for key in ("protocol", "versions"))
        return stored if same else {}

    def choice(self, case: str, what: str, make: Callable[[], str]) -> str:
        """A choice that is made once, written down, and kept when the run continues."""
        name = f"{case}: {what}"
        if name not in self.choices:
            print(f"choosing {name} ...", flush=True)
            self.choices[name] = make()
            self.write()
        print(f"{name}: {self.choices[name]}", flush=True)
        return self.choices[name]

    def run(self, case: str, method: str, seed: int, work: Callable[[], dict[str, float] | Iterable[Row]]) -> None:
        """Do the work unless its rows are there already, and write the file."""
        if any(row["case"] == case and row["method"] == method and row["seed"] == seed for row in self.rows):
            print(f"{case} {method} seed {seed}: done before", flush=True)
            return
        print(f"{case} {method} seed {seed} ...", flush=True)
        began, spent = time.monotonic(), time.process_time()
        found = work()
        rows = [{"metric": m, "value": v} for m, v in found.items()] if isinstance(found, dict) else list(found)
        key = {"case": case, "method": method, "seed": seed}
        rows.append({"metric": "seconds", "value": round(time.monotonic() - began, 2)})
        rows.append({"metric": "cpu_seconds", "value": round(time.process_time() - spent, 2)})
        made = {**provenance(), "date": date.today().isoformat(), "command": self._head["command"]}
        self.rows += [{**key, **row, "value": float(row["value"]), **made} for row in rows]
        self.write()
        # Programs compiled for one run seldom serve the next; thousands of them exhaust the memory maps of a process.
        jax.clear_caches()
        shown = [row for row in self.rows if _same(row, key)]
        print("    " + ", ".join(f"{row['metric']} {row['value']:.4g}" for row in shown[:7]), flush=True)

    def write(self) -> None:
        """Write the file in one go: a reader never sees half of it."""
        seconds = round(self._seconds + time.monotonic() - self._began, 1)
        chosen = {"choices": self.choices} if self.choices else {}
        content = {**self._head, "seconds": seconds, **chosen, **self.derived, "rows": self.rows}
        text = json.dumps(content, indent=1)
        partial = self.path.with_suffix(".json.tmp")
        partial.write_text(text + "\n")
        partial.replace(self.path)

    def values(self, metric: str, **key: Any) -> list[float]:
        """All values of a metric, over what the key leaves open."""
        return [row["value"] for row in self.rows if row["metric"] == metric and _same(row, key)]


def _same(row: Row, key: Row) -> bool:
    return all(row.get(name) == value for name, value in key.items())
