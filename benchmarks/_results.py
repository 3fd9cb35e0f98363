"""Benchmarks write the same shape of file as experiments."""

import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("gpssm", "jax", "jaxlib", "equinox", "gpjax", "optax", "numpy")


def write_results(name: str, out: Path, rows: list[dict], seconds: float) -> Path:
    """Write NAME.json with versions and machine facts; returns its path."""
    out.mkdir(parents=True, exist_ok=True)
    content = {
        "experiment": name,
        "command": " ".join(["python -m", f"benchmarks.{name}", *sys.argv[1:]]),
        "protocol": {"timing": "median of repeated calls after one warm-up; float64; one BLAS thread"},
        "versions": {"python": platform.python_version(), **{package: version(package) for package in PACKAGES}},
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        "seconds": round(seconds, 1),
        "rows": rows,
    }
    path = out / f"{name}.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path
