"""Benchmarks write the same shape of file as experiments."""

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks._machine import facts
from experiments._results import head, provenance

TIMING = "median of repeated calls after one warm-up; float64; one BLAS thread"


def write_results(name: str, out: Path, rows: list[dict], seconds: float, *, timing: str = TIMING, **more: Any) -> Path:
    """Write NAME.json with versions and machine facts; returns its path."""
    out.mkdir(parents=True, exist_ok=True)
    about = head(f"benchmarks.{name}", {"timing": timing})
    # The folder of the results is nobody's business.
    about["command"] = about["command"].partition(" --out")[0]
    about["quick"] = "--quick" in sys.argv
    # Each row names the code that made it, the ones that were measured earlier their own.
    made = {**provenance(), "date": date.today().isoformat()}
    rows = [row if "commit" in row else {**row, **made} for row in rows]
    content = {**about, "machine": facts(), **more, "seconds": round(seconds, 1), "rows": rows}
    path = out / f"{name}.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path
