"""Benchmarks write the same shape of file as experiments."""

import json
from pathlib import Path

from experiments._results import head


def write_results(name: str, out: Path, rows: list[dict], seconds: float) -> Path:
    """Write NAME.json with versions and machine facts; returns its path."""
    out.mkdir(parents=True, exist_ok=True)
    protocol = {"timing": "median of repeated calls after one warm-up; float64; one BLAS thread"}
    content = {**head(f"benchmarks.{name}", protocol), "seconds": round(seconds, 1), "rows": rows}
    path = out / f"{name}.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path
