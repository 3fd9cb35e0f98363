"""Rebuild docs/results.md and its figures from the JSON files: `python -m experiments.tables`."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS, DOCS = ROOT / "results", ROOT / "docs"

HEADER = """# Results

Made from the files in `results/` by `python -m experiments.tables`; do not edit by hand. Every number is a mean over
seeds with its range in brackets. Protocol, seeds and versions are in the files.
"""


def load(name: str) -> dict[str, Any] | None:
    """A results file, if it is there."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def cell(rows: Iterable[dict[str, Any]], **key: Any) -> str:
    """Mean and range over seeds of one metric."""
    values = [row["value"] for row in rows if all(row.get(name) == value for name, value in key.items())]
    if not values:
        return ""
    if len(values) == 1:
        return f"{values[0]:.3g}"
    return f"{mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def table(rows: list[dict[str, Any]], cases: Iterable[tuple[str, str]], metrics: dict[str, str]) -> str:
    """A table with a line for each case and method."""
    lines = ["| case | method | " + " | ".join(metrics.values()) + " |", "|---" * (len(metrics) + 2) + "|"]
    for case, method in cases:
        cells = [cell(rows, case=case, method=method, metric=metric) for metric in metrics]
        if any(cells):
            lines.append(f"| {case} | {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def combinations(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Cases and methods in the order in which they were run."""
    return list(dict.fromkeys((row["case"], row["method"]) for row in rows))


def about(protocol: dict[str, Any], what: str) -> str:
    """Data, one more entry of the protocol, and how settings were chosen."""
    return f"{protocol['data']}; {protocol[what]}. Chosen how: {protocol['selection']}."


def figure(name: str, caption: str) -> str:
    """Copy a figure to the documentation and show it."""
    source = RESULTS / f"{name}.png"
    if not source.exists():
        return ""
    (DOCS / "assets").mkdir(exist_ok=True)
    shutil.copyfile(source, DOCS / "assets" / source.name)
    return f"![{caption}](assets/{source.name})\n\n*{caption}*\n"


def kink() -> str:
    """The kink experiment."""
    stored = load("kink")
    if stored is None:
        return ""
    metrics = {
        "rmse_visited": "RMSE, visited range",
        "rmse_kink": "RMSE within 0.5 of the kink",
        "process_variance": "process variance (true 0.01)",
        "noise_variance": "noise variance (true 0.1)",
        "elbo_per_step": "bound per step",
        "seconds": "seconds",
    }
    parts = [
        "## Kink",
        about(stored["protocol"], "system"),
        table(stored["rows"], combinations(stored["rows"]), metrics),
        figure("kink_best", "Learnt transition functions, our recipe, seed 0"),
        figure(
            "kink_best_wide",
            "The same far from the data: RBF kernels return to the mean function, the others to a constant increment",
        ),
        figure("kink_paper", "Learnt transition functions by the paper's recipe, seed 0"),
        figure("kink_paper_wide", "The same far from the data"),
    ]
    return "\n\n".join(part for part in parts if part)


def pendulum() -> str:
    """The hidden-state check."""
    stored = load("pendulum")
    if stored is None:
        return ""
    metrics = {
        "nrmse": "NRMSE of the free run",
        "coverage_95": "coverage of the 95 % band",
        "log_density": "log density",
        "velocity_r2": "R2 of the hidden velocity",
        "seconds": "seconds",
    }
    parts = [
        "## Pendulum with hidden velocity",
        about(stored["protocol"], "prediction"),
        table(stored["rows"], combinations(stored["rows"]), metrics),
        figure(
            "pendulum",
            "Free simulation of held-out episodes, and the hidden velocity read off the latent states, seed 0",
        ),
    ]
    return "\n\n".join(part for part in parts if part)


def step() -> str:
    """The step benchmark."""
    stored = load("step")
    if stored is None:
        return ""
    metrics = {
        "compile_s": "compile, s",
        "step_ms": "gradient step, ms",
        "recognition_ms": "recognition",
        "chain_ms": "chain",
        "gp_ms": "GP",
        "cholesky_ms": "Cholesky within it",
    }
    machine = stored["machine"]
    parts = [
        "## Time per gradient step",
        f"{machine['cores']} cores, {machine['processor']}; {stored['protocol']['timing']}. "
        "Parts are timed alone, with their gradients.",
        table(stored["rows"], combinations(stored["rows"]), metrics),
    ]
    return "\n\n".join(parts)


def main() -> None:
    """Write the page."""
    page = "\n\n".join(part for part in (HEADER.strip(), kink(), pendulum(), step()) if part)
    (DOCS / "results.md").write_text(page.rstrip() + "\n")
    print(f"wrote {(DOCS / 'results.md').relative_to(ROOT)}")


if __name__ == "__main__":
    main()
